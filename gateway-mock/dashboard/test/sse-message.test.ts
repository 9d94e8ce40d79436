import { expect, test } from "vitest";
import { readPiece } from "../src/data/sse-message.ts";

test("a piece of a stream is its event, the id to go on from, and its data over several lines", () => {
  expect(readPiece('event: facts\nid: 7\ndata: {"a":\ndata: 1}')).toEqual({
    event: "facts",
    id: "7",
    data: '{"a":\n1}',
  });
  expect(readPiece(": still here\nid: 8")).toEqual({ event: "message", id: "8", data: "" });
  expect(readPiece("retry: 1000")).toEqual({ event: "message", id: null, data: "" });
});
