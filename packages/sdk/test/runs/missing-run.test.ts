import { systemRandom } from "@holdfast/core";
import { fakeClock } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import { HoldfastClient } from "../../src/app/client.ts";
import { runHandle } from "../../src/runs/run-handle.ts";
import { client } from "../execution/support.ts";

type Answer = readonly [status: number, body: unknown];

const GONE: Answer = [404, { error: "There is no run A.", status: 404, code: "NOT_FOUND" }];
const PROXY: Answer = [404, "default backend - 404"];
const run = { id: "A", functionId: "app-f", status: "COMPLETED", output: 7, endedMs: 2, continuedAs: null };
const DONE: Answer = [200, run];
const GOING: Answer = [200, { ...run, status: "RUNNING", endedMs: null, waiting: null }];

/** The last answer stays. */
function handleOf(answers: readonly Answer[], isKnown = false) {
  const clock = fakeClock();
  let asked = 0;
  const fetch = async (): Promise<Response> => {
    const [status, body] = answers[Math.min(asked, answers.length - 1)] ?? [500, ""];
    asked += 1;
    return new Response(typeof body === "string" ? body : JSON.stringify(body), { status });
  };
  const ports = { clock, timers: clock, random: systemRandom, fetch };
  return { handle: runHandle(client.options, "A", ports, { isKnown }), clock, asked: () => asked };
}

/** Fires timers until it is settled. */
async function settled<T>(promise: Promise<T>, clock: ReturnType<typeof fakeClock>): Promise<T> {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  promise.then(over, over);
  for (let n = 0; n < 1_000 && !isOver; n += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (!isOver) await clock.runNext();
  }
  return promise;
}

const noRun = { code: "NOT_FOUND", message: expect.stringContaining("no run A") };

describe("The handle of a run that there is not", () => {
  test("rejects result() at once with NOT_FOUND, also with a timeout, as it does status, cancel and follow", async () => {
    const { handle, asked, clock } = handleOf([GONE]);
    await expect(handle.result()).rejects.toMatchObject(noRun);
    await expect(handle.result({ timeout: "1h" })).rejects.toMatchObject(noRun);
    expect(asked()).toBe(2);
    expect(clock.monotonicMs()).toBe(0);
    await expect(handle.status()).rejects.toMatchObject(noRun);
    await expect(handle.cancel()).rejects.toMatchObject(noRun);
    await expect(handle.follow().next()).rejects.toMatchObject(noRun);
  });

  test("does not say that the run goes on where no gateway has answered in time", async () => {
    const late = { code: "RUN_RESULT_TIMEOUT", message: expect.stringMatching(/no gateway has confirmed yet/) };
    const unknown = handleOf([[503, "busy"]]);
    const waiting = unknown.handle.result({ timeout: "2s" });
    await expect(settled(waiting, unknown.clock)).rejects.toMatchObject(late);
    const known = handleOf([[503, "busy"]], true);
    const unsure = { code: "RUN_RESULT_TIMEOUT", message: expect.stringMatching(/its current state is unknown/) };
    await expect(settled(known.handle.result({ timeout: "2s" }), known.clock)).rejects.toMatchObject(unsure);
  });

  test("says what the run was at last where a gateway waits for its end longer than the caller", async () => {
    const clock = fakeClock();
    const waited: number[] = [];
    // As a gateway does: the answer comes when the run has ended, or the time of the call is over.
    const fetch = async (url: string, { signal }: RequestInit): Promise<Response> => {
      const ms = Number(new URL(url).searchParams.get("wait"));
      waited.push(ms);
      await new Promise<void>((resolve, reject) => {
        clock.set(ms, resolve);
        signal?.addEventListener("abort", () => reject(signal.reason));
      });
      const waiting = { message: 'It waits for the event "paid".' };
      return Response.json({ ...run, status: "WAITING", endedMs: null, waiting });
    };
    const ports = { clock, timers: clock, random: systemRandom, fetch };
    for (const timeout of ["2s", "100ms", "5m"]) {
      const late = {
        code: "RUN_RESULT_TIMEOUT",
        message: expect.stringMatching(/it is WAITING.*"paid"\. It goes on\.$/),
      };
      const result = runHandle(client.options, "A", ports).result({ timeout });
      await expect(settled(result, clock)).rejects.toMatchObject(late);
    }
    expect(Math.max(...waited)).toBe(30_000);
    expect(waited.length).toBeLessThan(25);
  });

  test("asks again where something that is no gateway answers 404, such as a proxy without one behind it", async () => {
    const { handle, clock } = handleOf([PROXY, PROXY, DONE]);
    expect(await settled(handle.result(), clock)).toBe(7);
  });
});

describe("The handle of a run that a gateway has just started, or shown", () => {
  test("outlives that a database after a failover lacks it until gateways have written it again", async () => {
    for (const [answers, isKnown] of [
      [[GONE, GONE, GONE, DONE], true],
      [[GOING, GONE, GONE, GONE, DONE], false],
    ] as const) {
      const { handle, clock } = handleOf(answers, isKnown);
      expect(await settled(handle.result(), clock)).toBe(7);
    }
  });

  test("ends with NOT_FOUND when the run stays away", async () => {
    const { handle, clock } = handleOf([GOING, GONE]);
    await expect(settled(handle.result(), clock)).rejects.toMatchObject(noRun);
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(30_000);
  });

  const starting = Array.from({ length: 8 }, (): Answer => [503, { error: "starting", code: "GATEWAY_STARTING" }]);

  test.each<[string, readonly Answer[]]>([
    ["a gateway that starts", [...starting, GOING]],
    ["a proxy in front of none", [PROXY, PROXY, GOING]],
    ["a database that lacks it after a failover", [GONE, GONE, GOING]],
  ])("waits for %s with status()", async (_what, answers) => {
    const { handle, clock } = handleOf(answers, true);
    expect(await settled(handle.status(), clock)).toBe("RUNNING");
  });

  test("has been shown it by a status() before", async () => {
    const { handle, clock } = handleOf([GOING, GONE, GONE, DONE]);
    expect(await handle.status()).toBe("RUNNING");
    expect(await settled(handle.status(), clock)).toBe("COMPLETED");
  });

  test("waits with cancel(), too", async () => {
    const { handle, clock } = handleOf([...starting, GONE, [200, { cancelled: true }]], true);
    expect(await settled(handle.cancel(), clock)).toBe(true);
  });

  test.each<[string, Answer, object]>([
    ["the run stays away", GONE, noRun],
    ["no gateway comes", [503, "busy"], { code: "RUNS_UNAVAILABLE" }],
  ])("gives up on status() after half a minute where %s", async (_what, answer, error) => {
    const { handle, clock } = handleOf([answer], true);
    await expect(settled(handle.status(), clock)).rejects.toMatchObject(error);
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(30_000);
  });

  test("gives up on status() at once where the gateway refuses", async () => {
    const { handle, clock } = handleOf([[400, { error: "No.", code: "BODY_INVALID" }]], true);
    await expect(handle.status()).rejects.toMatchObject({ code: "BODY_INVALID" });
    expect(clock.monotonicMs()).toBe(0);
  });
});

describe("Bad input of runs.list", () => {
  const asked: string[] = [];
  const fetch = async (url: string): Promise<Response> => {
    asked.push(url);
    return Response.json({ error: "`after` must be a point in time", code: "BODY_INVALID" }, { status: 400 });
  };
  const lister = new HoldfastClient({ id: "a", isDev: true, fetch }, {});

  test.each<[object, string]>([
    [{ limit: -1 }, "`limit` of runs.list() must be 1 to 1000, not -1"],
    [{ limit: 1001 }, "`limit`"],
    [{ limit: "many" }, "`limit`"],
    [{ since: "nonsense" }, "no option `since`"],
  ])("%j is refused by its name before anything is sent", async (options, text) => {
    asked.length = 0;
    const refused = { code: "OPTION_INVALID", message: expect.stringContaining(text) };
    await expect(lister.runs.list(options)).rejects.toMatchObject(refused);
    expect(asked).toEqual([]);
  });

  test("listRuns refuses the same", async () => {
    const refused = { code: "OPTION_INVALID", message: expect.stringContaining("listRuns()") };
    await expect(lister.listRuns({ limit: 0 })).rejects.toMatchObject(refused);
  });

  test("what the gateway refuses keeps the gateway's code", async () => {
    await expect(lister.runs.list({ after: "nonsense" })).rejects.toMatchObject({
      code: "BODY_INVALID",
      message: expect.stringContaining("`after` must be a point in time"),
    });
  });
});
