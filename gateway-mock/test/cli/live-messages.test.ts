import { afterEach, expect, test, vi } from "vitest";
import { type LiveMessage, liveMessages } from "../../src/cli/live-messages.ts";

afterEach(() => vi.unstubAllGlobals());

/** Node 20 forgets now and then that the signal of a call whose body is being read was to end it. */
function streamsOf(body: () => ReadableStream<Uint8Array>): void {
  vi.stubGlobal("fetch", async () => new Response(body(), { headers: { "Content-Type": "text/event-stream" } }));
}

const PIECE = new TextEncoder().encode(
  Array.from({ length: 10 }, (_, n) => `event: facts\ndata: {"n":${n}}\n\n`).join(""),
);

async function seenUntil(most: number, stop: AbortController): Promise<LiveMessage[]> {
  const seen: LiveMessage[] = [];
  const client = { url: "http://127.0.0.1:1", headers: () => Promise.resolve({}) };
  const options = { signal: stop.signal, onGone: () => {}, onBack: () => {} };
  for await (const message of liveMessages(client, "/v1/runs/stream", options)) {
    seen.push(message);
    if (seen.length === most) stop.abort();
  }
  return seen;
}

test("a stream on which messages come all the time ends when it is asked to, in the middle of a piece", async () => {
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    await new Promise(setImmediate);
    controller.enqueue(PIECE);
  };
  streamsOf(() => new ReadableStream({ pull }));
  expect(await seenUntil(2_005, new AbortController())).toHaveLength(2_005);
});

test("a stream on which nothing comes any more ends when it is asked to, and is given up", async () => {
  let isCancelled = false;
  const stop = new AbortController();
  streamsOf(
    () =>
      new ReadableStream({
        start: (controller) => controller.enqueue(PIECE),
        pull: () => new Promise(() => setTimeout(() => stop.abort(), 10)),
        cancel: () => {
          isCancelled = true;
        },
      }),
  );
  expect(await seenUntil(Number.POSITIVE_INFINITY, stop)).toHaveLength(10);
  expect(isCancelled).toBe(true);
});
