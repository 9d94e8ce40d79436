import { expect, test } from "vitest";
import { ServerSentReader } from "../src/server-sent.ts";

test("messages are read as the standard has it", () => {
  const reader = new ServerSentReader();
  const text = ":hi\r\nid: 7\r\ndata: one\r\ndata:two\r\n\r\nevent: x\ndata\n\nid\n\nretry: 5\n\n";
  expect([...reader.read(text)]).toEqual([
    { event: "message", data: "one\ntwo" },
    { event: "x", data: "" },
  ]);
  expect(reader.lastId).toBe("");
});
