import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { follow } from "../../src/client/follow.ts";
import type { GraphStatus } from "../../src/definition.ts";

interface Feed {
  /** Something has happened to the run. */
  happen(times?: number): void;
  end(error?: Error): void;
  readonly isLeft: boolean;
}

/** A run whose stream is in the test's hands. */
function runOf() {
  let waiting: (() => void) | undefined;
  let [open, isOver, isLeft] = [0, false, false];
  let failure: Error | undefined;
  async function* events(signal: AbortSignal | undefined): AsyncGenerator<never, void> {
    const wake = (): void => waiting?.();
    signal?.addEventListener("abort", wake);
    try {
      for (;;) {
        if (signal?.aborted || (isOver && open === 0)) break;
        if (open > 0) {
          open -= 1;
          yield undefined as never;
        } else
          await new Promise<void>((resolve) => {
            waiting = resolve;
          });
      }
      if (failure) throw failure;
    } finally {
      isLeft = true;
    }
  }
  const feed: Feed = {
    happen: (times = 1) => {
      open += times;
      waiting?.();
    },
    end: (error) => {
      [isOver, failure] = [true, error];
      waiting?.();
    },
    get isLeft() {
      return isLeft;
    },
  };
  const app = { runs: { follow: (_: string, options: { signal?: AbortSignal }) => events(options.signal) } };
  return { app: app as never, feed };
}

const statusOf = (n: number, status = "RUNNING") => ({ runId: "r", status, nodes: [n] }) as unknown as GraphStatus;

async function statesIn(all: AsyncIterable<GraphStatus>): Promise<string[]> {
  const states: string[] = [];
  for await (const { status } of all) states.push(status);
  return states;
}

test("however much happens while one answer is on its way, it is asked for once more", async () => {
  const { app, feed } = runOf();
  let asked = 0;
  const seen = follow(
    app,
    "r",
    async () => {
      asked += 1;
      if (asked === 1) {
        feed.happen(1_000);
        for (let turns = 0; turns < 5; turns += 1) await turn();
      }
      return statusOf(asked, asked === 2 ? "COMPLETED" : "RUNNING");
    },
    undefined,
  );
  feed.happen();
  expect(await statesIn(seen)).toEqual(["RUNNING", "COMPLETED"]);
  expect(asked).toBe(2);
});

test("what has not changed is not given again, and the last state is given when the stream ends", async () => {
  const { app, feed } = runOf();
  const states = [statusOf(1), statusOf(1), statusOf(2)];
  let asked = 0;
  const seen = follow(app, "r", async () => states[asked++] ?? statusOf(3), undefined);
  feed.happen();
  expect((await seen.next()).value).toEqual(statusOf(1));
  const next = seen.next();
  feed.happen();
  await turn();
  feed.end();
  expect((await next).value).toEqual(statusOf(2));
  expect((await seen.next()).done).toBe(true);
});

test("who stops looking ends the stream, and an error of the stream is theirs", async () => {
  const { app, feed } = runOf();
  feed.happen();
  for await (const _ of follow(app, "r", async () => statusOf(1), undefined)) break;
  await turn();
  expect(feed.isLeft).toBe(true);

  const aborted = runOf();
  const ending = new AbortController();
  const seen = follow(aborted.app, "r", async () => statusOf(1), ending.signal);
  aborted.feed.happen();
  await seen.next();
  const next = seen.next();
  ending.abort();
  expect((await next).done).toBe(true);
  await turn();
  expect(aborted.feed.isLeft).toBe(true);

  const broken = runOf();
  broken.feed.end(new Error("away"));
  await expect(follow(broken.app, "r", async () => statusOf(1), undefined).next()).rejects.toThrow("away");
});
