import { HoldfastError, systemRandom } from "@holdfast/core";
import { type FakeClock, fakeClock } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import { runHandle } from "../../src/runs/run-handle.ts";
import { client } from "../execution/support.ts";

const RUN = { id: "A", functionId: "app-f", status: "RUNNING", endedMs: null, waiting: null, continuedAs: null };

/** `waits`: as a gateway does, it answers when the time of the call is over. */
type Answer = "waits" | (() => Response | Promise<Response>);

const dead: Answer = () => {
  throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:8288") });
};
/** It takes the call, and is silent. */
const hangs: Answer = () => new Promise(() => {});

/** `answers`: what there is from a time on, in milliseconds since the start. */
function handleOf(answers: readonly (readonly [fromMs: number, answer: Answer])[], isKnown = true) {
  const clock = fakeClock();
  const fetch = async (url: string, { signal }: RequestInit): Promise<Response> => {
    const waitMs = Number(new URL(url).searchParams.get("wait"));
    const [, answer = dead] = answers.findLast(([fromMs]) => fromMs <= clock.monotonicMs()) ?? [];
    if (answer !== "waits") return whileWanted(async () => answer(), signal);
    await whileWanted(() => new Promise<void>((resolve) => clock.set(waitMs, resolve)), signal);
    return Response.json(RUN);
  };
  const ports = { clock, timers: clock, random: systemRandom, fetch };
  return { handle: runHandle(client.options, "A", ports, { isKnown }), clock };
}

/** As `fetch` does, it rejects when the signal fires. */
const whileWanted = <T>(act: () => Promise<T>, signal: RequestInit["signal"]): Promise<T> =>
  new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason));
    act().then(resolve, reject);
  });

async function rejection(promise: Promise<unknown>, clock: FakeClock): Promise<HoldfastError> {
  const outcome = promise.then(
    () => null,
    (error: unknown) => error,
  );
  let error: unknown;
  void outcome.then((value) => (error = value));
  for (let n = 0; n < 1_000 && error === undefined; n += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (error === undefined) await clock.runNext();
  }
  if (!HoldfastError.is(error)) throw new Error("It was not rejected with an error of ours.", { cause: error });
  return error;
}

describe("result() whose time is over", () => {
  const unreachable = {
    code: "RUN_RESULT_TIMEOUT",
    message: expect.stringMatching(
      /^Run A had not ended in time: no gateway has reported on it for 12 s, so its current state is unknown\. .*ECONNREFUSED/,
    ),
    cause: expect.objectContaining({
      code: "RUNS_UNAVAILABLE",
      cause: expect.objectContaining({ message: "fetch failed" }),
    }),
  };

  test("says that no gateway could be reached, for how long and why, and not that the run goes on", async () => {
    const { handle, clock } = handleOf([[0, dead]]);
    const error = await rejection(handle.result({ timeout: "12s" }), clock);
    expect(error).toMatchObject(unreachable);
    expect(error.message).not.toContain("It goes on");
  });

  test("says so, too, where less time is left than it takes to give up a call", async () => {
    const { handle, clock } = handleOf([[0, dead]]);
    const error = await rejection(handle.result({ timeout: "300ms" }), clock);
    expect(error.message).toMatch(/no gateway has reported on it for 0\.3 s.*ECONNREFUSED/);
    expect(error.cause).toMatchObject({ code: "RUNS_UNAVAILABLE" });
  });

  test("counts from when the gateway died", async () => {
    const { handle, clock } = handleOf([
      [0, "waits"],
      [30_000, dead],
    ]);
    const error = await rejection(handle.result({ timeout: "60s" }), clock);
    expect(error.message).toMatch(/no gateway has reported on it for (3\d|60) s/);
  });

  test("says what a gateway answered that could not tell of the run", async () => {
    const { handle, clock } = handleOf([[0, () => new Response("busy", { status: 503 })]]);
    const error = await rejection(handle.result({ timeout: "12s" }), clock);
    const text = /reported on it for 12 s, so its current state is unknown\. .*: 503 busy$/;
    expect(error).toMatchObject({ message: expect.stringMatching(text), cause: { status: 503 } });
  });

  test("says that no gateway has answered where one takes the call and is silent", async () => {
    for (const isKnown of [true, false]) {
      const { handle, clock } = handleOf([[0, hangs]], isKnown);
      const error = await rejection(handle.result({ timeout: "12s" }), clock);
      expect(error.message).toMatch(
        isKnown
          ? /no gateway has reported on it for 12 s, so its current state is unknown\.$/
          : /: no gateway has confirmed yet that this run exists\.$/,
      );
    }
    const { handle, clock } = handleOf([
      [0, "waits"],
      [30_000, hangs],
    ]);
    const error = await rejection(handle.result({ timeout: "60s" }), clock);
    expect(error.message).toMatch(/no gateway has reported on it for (3\d|60) s, so its current state is unknown\.$/);
  });

  test("says why where no gateway has said that there is such a run", async () => {
    const { handle, clock } = handleOf([[0, dead]], false);
    const error = await rejection(handle.result({ timeout: "12s" }), clock);
    expect(error.message).toMatch(
      /: no gateway has confirmed yet that this run exists\. The gateway at .*ECONNREFUSED/,
    );
    expect(error.cause).toMatchObject({ code: "RUNS_UNAVAILABLE" });
  });

  test("forgets a gateway that could not be reached once one answers", async () => {
    const { handle, clock } = handleOf([
      [0, dead],
      [5_000, "waits"],
    ]);
    const error = await rejection(handle.result({ timeout: "60s" }), clock);
    expect(error.message).toBe("Run A had not ended in time: it is RUNNING. It goes on.");
    expect(error.cause).toBeUndefined();
  });
});
