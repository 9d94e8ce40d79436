import { fakeClock } from "@holdfast/testing";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { answerEvents, messageText, quietText } from "../../src/http/event-stream.ts";

async function opened(texts: readonly string[]) {
  const clock = fakeClock();
  const seen = { slow: 0, ended: 0, destroyed: 0, asked: 0 };
  const count = (what: "slow" | "destroyed"): void => {
    seen[what] += 1;
  };
  const app = new Hono().get("/", (c) =>
    answerEvents(
      c,
      () => ({
        texts: (async function* () {
          for (const text of texts) {
            seen.asked += 1;
            yield text;
          }
        })(),
        end: () => {
          seen.ended += 1;
        },
      }),
      { timers: clock, onSlow: () => count("slow"), slowMs: 60_000 },
    ),
  );
  const outgoing = { closed: false, destroy: () => count("destroyed") };
  const response = await app.request("/", {}, { outgoing });
  const reader = response.body?.getReader();
  const read = async (): Promise<string | null> => {
    const piece = await reader?.read();
    return piece?.done ? null : new TextDecoder().decode(piece?.value);
  };
  return { clock, seen, read, response, reader, outgoing };
}

test("messages are sent one by one as they are read, and the stream ends with them", async () => {
  const { seen, read, response } = await opened(["a", "b"]);
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(await read()).toBe("retry: 1000\n\n");
  expect(seen.asked).toBe(0);
  expect([await read(), await read(), await read()]).toEqual(["a", "b", null]);
});

test("a client that reads nothing for a minute is cut off; one that reads in time is not", async () => {
  const { clock, seen, read } = await opened(["a", "b", "c"]);
  await read();
  await read();
  await clock.advance(59_000);
  await read();
  await clock.advance(59_000);
  expect(seen).toMatchObject({ slow: 0, destroyed: 0 });
  await clock.advance(1_000);
  expect(seen).toMatchObject({ slow: 1, destroyed: 1, ended: 1 });
});

test("a stream whose end was sent is not cut off later; one whose end waits for the client is", async () => {
  const left = await opened(["a"]);
  while ((await left.read()) !== null);
  left.outgoing.closed = true;
  await left.clock.advance(120_000);
  expect(left.seen).toMatchObject({ slow: 0, destroyed: 0 });

  const waits = await opened(["a"]);
  while ((await waits.read()) !== null);
  await waits.clock.advance(120_000);
  expect(waits.seen).toMatchObject({ slow: 1, destroyed: 1 });
});

test("a client that goes ends what it was sent from", async () => {
  const { clock, seen, read, reader } = await opened(["a", "b"]);
  await read();
  await read();
  await reader?.cancel();
  expect(seen.ended).toBe(1);
  await clock.advance(120_000);
  expect(seen.slow).toBe(0);
});

test("nothing is opened for a client that does not read at all", async () => {
  const { seen, reader } = await opened(["a"]);
  await reader?.cancel();
  expect(seen).toMatchObject({ asked: 0, ended: 0 });
});

test("text of several lines stays one message", () => {
  const text = messageText({ event: "facts", id: "p1", data: { text: "x" } });
  expect(text).toBe('event: facts\nid: p1\ndata: {"text":"x"}\n\n');
  expect(quietText("p2")).toBe(": still here\nid: p2\n\n");
});
