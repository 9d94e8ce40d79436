import { silentLog } from "@holdfast/core";
import { fakeClock } from "@holdfast/testing";
import { describe, expect, it } from "vitest";
import { createCloser } from "../../src/connection/main/closer.ts";
import { Ledger } from "../../src/connection/main/ledger.ts";
import type { RequestRunner } from "../../src/connection/main/request-runner.ts";
import type { ThreadHost } from "../../src/connection/main/thread-host.ts";
import type { MainMessage } from "../../src/connection/shared/messages.ts";

const identity = {
  requestId: "r",
  accountId: "",
  envId: "",
  appId: "",
  functionSlug: "f",
  stepId: "step",
  systemTraceCtx: new Uint8Array(0),
  userTraceCtx: new Uint8Array(0),
  runId: "run",
};

/** Main's half of close() on a clock that is stalled; the thread does only what the test says. */
function bench(how: {
  readonly obeys: boolean;
  readonly running?: number;
  readonly inFlight?: boolean;
  /** How long the pool takes to end; null: it does not. */
  readonly poolMs?: number | null;
}) {
  const clock = fakeClock();
  const sent: MainMessage[] = [];
  const did: string[] = [];
  let ended = (): void => {};
  const ledger = new Ledger(clock);
  const signal = how.inFlight ? ledger.open(identity, "app", "lease", 1, null) : undefined;
  const runner = { running: how.running ?? 0 };
  const host = {
    alive: true,
    send: (message: MainMessage) => sent.push(message),
    respawnNow: () => did.push("respawnNow"),
    stop: () => new Promise<void>((resolve) => (ended = resolve)),
    terminate: () => {
      did.push("terminate");
      ended();
    },
  };
  const closer = createCloser({
    host: host as unknown as ThreadHost,
    ledger,
    runner: runner as RequestRunner,
    clock,
    timers: clock,
    log: silentLog,
    closePool: async () => {
      const { poolMs } = how;
      if (poolMs === undefined) return;
      did.push("close pool");
      await new Promise<void>((resolve) => {
        if (poolMs !== null) clock.set(poolMs, resolve, { unref: true });
      });
    },
  });
  let overAtMs: number | null = null;
  const begin = (drainMs: number): void => {
    void closer.begin(drainMs).then(() => {
      overAtMs = clock.monotonicMs();
    });
    if (how.obeys) {
      closer.onThreadClosed();
      ended();
    }
  };
  return { clock, sent, did, closer, host, runner, signal, begin, overAtMs: () => overAtMs, threadEnds: () => ended() };
}

describe("Closer", () => {
  it("CLOSE-1: close() ends within a second of its deadline even if the thread hangs and work never ends", async () => {
    const { clock, did, begin, overAtMs, sent, signal } = bench({ obeys: false, running: 1, inFlight: true });
    begin(25_000);
    expect(sent).toEqual([{ type: "CLOSE", drainMs: 25_000 }]);
    await clock.advance(25_000);
    expect(overAtMs()).toBeNull();
    await clock.advance(1_000);
    expect(did).toEqual(["terminate"]);
    expect(overAtMs()).toBeLessThanOrEqual(26_000);
    expect(signal?.reason).toMatchObject({ code: "DRAIN_TIMEOUT" });
    expect(clock.pending).toEqual([]);
  });

  it("CLOSE-4: a forced close() waits for no handler, also when the thread has ended before", async () => {
    const { clock, begin, overAtMs, closer } = bench({ obeys: true, running: 1 });
    begin(3_600_000);
    await clock.advance(10);
    expect(overAtMs()).toBeNull();
    closer.force();
    await clock.advance(0);
    expect(overAtMs()).toBe(10);
    expect(clock.pending).toEqual([]);
  });

  it("CLOSE-5: close() waits for the threads of the pool, but not beyond a second after its deadline", async () => {
    const hung = bench({ obeys: false, inFlight: true, poolMs: null });
    hung.begin(5_000);
    await hung.clock.advance(6_000);
    expect(hung.did).toEqual(["terminate", "close pool"]);
    expect(hung.overAtMs()).toBeLessThanOrEqual(6_000);
    expect(hung.clock.pending).toEqual([]);

    const quick = bench({ obeys: true, poolMs: 600 });
    quick.begin(5_000);
    await quick.clock.advance(599);
    expect(quick.overAtMs()).toBeNull();
    await quick.clock.advance(1);
    expect(quick.overAtMs()).toBe(600);
    expect(quick.clock.pending).toEqual([]);

    const forced = bench({ obeys: true, poolMs: null });
    forced.begin(3_600_000);
    await forced.clock.advance(100);
    forced.closer.force();
    await forced.clock.advance(1_000);
    expect(forced.overAtMs()).toBeLessThanOrEqual(1_100);
    expect(forced.clock.pending).toEqual([]);
  });

  it("close() ends at once when the thread is done and nothing runs", async () => {
    const { clock, begin, overAtMs } = bench({ obeys: true });
    begin(25_000);
    await clock.advance(0);
    expect(overAtMs()).toBe(0);
    expect(clock.pending).toEqual([]);
  });

  it("CLOSE-4: close() waits for handlers whose result is no longer needed, but not beyond its deadline", async () => {
    const patient = bench({ obeys: true, running: 1 });
    patient.begin(25_000);
    await patient.clock.advance(10_000);
    expect(patient.overAtMs()).toBeNull();
    patient.runner.running = 0;
    patient.closer.recheck();
    await patient.clock.advance(0);
    expect(patient.overAtMs()).toBe(10_000);
    const endless = bench({ obeys: true, running: 1 });
    endless.begin(25_000);
    await endless.clock.advance(30_000);
    expect(endless.overAtMs()).toBe(25_000);
  });

  it("a forced close() ends within a second, whatever its deadline was", async () => {
    const { clock, closer, begin, overAtMs, sent } = bench({ obeys: false, running: 1, inFlight: true });
    begin(3_600_000);
    await clock.advance(5_000);
    closer.force();
    closer.force();
    expect(sent.at(-1)).toEqual({ type: "CLOSE", drainMs: 0 });
    await clock.advance(1_000);
    expect(overAtMs()).toBeLessThanOrEqual(6_000);
  });

  it("CLOSE-2: close() starts a new thread when the last one died with unfinished work, for the remaining time", async () => {
    const { clock, closer, begin, did } = bench({ obeys: false, inFlight: true });
    begin(10_000);
    await clock.advance(4_000);
    closer.onThreadGone();
    expect(did).toEqual(["respawnNow"]);
    expect(closer.greeting()).toEqual([{ type: "CLOSE", drainMs: 6_000 }]);
    closer.onThreadGone();
    expect(did).toEqual(["respawnNow", "respawnNow"]);
  });
});
