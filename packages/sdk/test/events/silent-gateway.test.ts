import { type FakeClock, fakeClock } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import { HoldfastClient } from "../../src/app/client.ts";
import { sendEvents } from "../../src/events/send-events.ts";
import type { FetchLike } from "../../src/events/send-http.ts";

const access = { mode: "dev", apiBaseUrl: "http://gateway.test/", eventBaseUrl: "http://gateway.test/" } as const;

/** A gateway that takes events and never answers; `health` is what it says of itself, if it does. */
function silentFetch(health?: () => Response): { readonly fetch: FetchLike; readonly asked: string[] } {
  const asked: string[] = [];
  const fetch: FetchLike = (url, { signal }) => {
    asked.push(new URL(url).pathname);
    if (url.endsWith("/health") && health) return Promise.resolve(health());
    return new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  };
  return { fetch, asked };
}

/** The clock goes on by so much at a time. */
const STEP_MS = 100;

interface Failure {
  readonly message: string;
  /** By the clock of the test, which only the test moves. */
  readonly isWithin: (limitMs: number) => boolean;
}

/** What the call fails with, and after how much of the clock. */
async function failure(fetch: FetchLike, callTimeoutMs?: number): Promise<Failure> {
  const clock: FakeClock = fakeClock();
  const ports = { clock, timers: clock, random: () => 0.5, fetch, callTimeoutMs };
  const startMs = clock.monotonicMs();
  let end: Failure | undefined;
  const call = sendEvents(access, undefined, [{ name: "a" }], ports).catch((error: Error & { code: string }) => {
    const atMs = clock.monotonicMs();
    end = { message: `${error.code} ${error.message}`, isWithin: (limitMs) => atMs <= startMs + limitMs + STEP_MS };
  });
  while (end === undefined) {
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(STEP_MS);
  }
  await call;
  return end;
}

describe("A gateway that takes calls and is silent", () => {
  test("is given up after 30 s, and what is to be looked at is said", async () => {
    const { fetch, asked } = silentFetch();
    const { message, isWithin } = await failure(fetch);
    expect(message).toMatch(
      /^EVENT_SEND_FAILED The gateway at http:\/\/gateway\.test did not accept the events \(after 3 tries\): no answer within \d+ ms; nor is there one to \/health: what takes the connection hangs, or is no gateway\./,
    );
    expect(isWithin(30_000)).toBe(true);
    expect(asked.filter((path) => path.startsWith("/e/"))).toHaveLength(3);
  });

  test.each([
    [250, 1],
    [5_000, 1],
    [120_000, 5],
  ])("is given up after the limit that the app has: %i ms, in %i tries", async (limitMs, tries) => {
    const { fetch, asked } = silentFetch();
    const { isWithin } = await failure(fetch, limitMs);
    expect(isWithin(limitMs)).toBe(true);
    expect(asked.filter((path) => path.startsWith("/e/"))).toHaveLength(tries);
  });

  test.each<[object, RegExp]>([
    [
      { ok: true, database: { ok: false, error: "connect ECONNREFUSED" } },
      /waits for its database: connect ECONNREFUSED/,
    ],
    [{ ok: true, database: { ok: true } }, /says that its database is there, which may be slow/],
    [{ hello: 1 }, /what answers \/health there is no Holdfast gateway/],
  ])("whose /health says %j is told apart", async (health, why) => {
    const { fetch } = silentFetch(() => Response.json(health));
    expect((await failure(fetch, 5_000)).message).toMatch(why);
  });

  test("a call that is answered in time asks for nothing more", async () => {
    const asked: string[] = [];
    const fetch: FetchLike = async (url) => {
      asked.push(url);
      return Response.json({ ids: ["1"], status: 200 });
    };
    const clock = fakeClock();
    const ports = { clock, timers: clock, random: () => 0.5, fetch };
    expect(await sendEvents(access, undefined, [{ name: "a" }], ports)).toEqual({ ids: ["1"] });
    expect(asked).toHaveLength(1);
    expect(clock.pending).toEqual([]);
  });
});

test("send, signals and runs of a client fail with their codes once `callTimeout` is over", async () => {
  const { fetch } = silentFetch();
  const client = new HoldfastClient({ id: "a", isDev: true, callTimeout: "300ms", fetch }, {});
  await expect(client.send({ name: "a" })).rejects.toMatchObject({ code: "EVENT_SEND_FAILED" });
  await expect(client.sendSignal({ signal: "a" })).rejects.toMatchObject({ code: "SIGNAL_SEND_FAILED" });
  await expect(client.getRun("r")).rejects.toMatchObject({ code: "RUNS_UNAVAILABLE" });
  const { options } = new HoldfastClient({ id: "a" }, { HOLDFAST_CALL_TIMEOUT: "2m" });
  expect(options.callTimeoutMs).toBe(120_000);
});
