import { readClocks } from "@holdfast/core";
import { fakeClock } from "@holdfast/testing";
import { describe, expect, it } from "vitest";
import { LeaseGuard } from "../../src/connection/main/lease-guard.ts";
import { Ledger } from "../../src/connection/main/ledger.ts";
import type { RequestIdentity } from "../../src/connection/shared/reply.ts";
import { COUNTERS_BYTES, sharedCounters } from "../../src/connection/shared/shared-counters.ts";

const identity = { requestId: "r", runId: "run" } as RequestIdentity;
const EPOCH = 4;

/** Main with one request, and a thread that says of itself only what the test says. */
function bench() {
  const clock = fakeClock();
  const counters = sharedCounters(new SharedArrayBuffer(COUNTERS_BYTES));
  const alive = (): void => counters.alive(readClocks(clock));
  counters.pauseLimit(2_000);
  counters.epoch(EPOCH);
  alive();
  const ledger = new Ledger(clock);
  const signal = ledger.open(identity, "app", "lease", EPOCH);
  if (signal === undefined) throw new Error("The ledger knows it already.");
  const gate = new LeaseGuard({ counters: () => counters, ledger, clock });
  const wait = (): Promise<void> | undefined => gate.wait("r", signal);
  /** Whether what waits goes on once the gate has looked. */
  const goesOn = async (waiting: Promise<void> | undefined): Promise<boolean> => {
    gate.recheck();
    return Promise.race([waiting?.then(() => true) ?? true, Promise.resolve().then(() => Promise.resolve(false))]);
  };
  return { clock, counters, alive, ledger, gate, wait, goesOn };
}

describe("whether a body may begin", () => {
  it("is not asked of anybody while the thread moves, however long main was blocked", async () => {
    const { clock, alive, wait } = bench();
    expect(wait()).toBeUndefined();
    await clock.advance(60_000);
    alive();
    expect(wait()).toBeUndefined();
  });

  it("B1: it may not while the thread is silent; it may when that one has found that it was not paused", async () => {
    const { clock, alive, wait, goesOn } = bench();
    await clock.advance(2_100);
    const waiting = wait();
    expect(await goesOn(waiting)).toBe(false);
    alive();
    expect(await goesOn(waiting)).toBe(true);
    expect(wait()).toBeUndefined();
  });

  it("B1: a machine that slept, and main wakes first: its wall clock tells", async () => {
    const { clock, wait } = bench();
    clock.setWallClock(clock.nowMs() + 3_600_000);
    expect(wait()).toBeInstanceOf(Promise);
  });

  it("B2: it may not under an older epoch, until the lease is confirmed as of the new one", async () => {
    const { counters, alive, ledger, wait, goesOn } = bench();
    counters.epoch(EPOCH + 1);
    alive();
    const waiting = wait();
    expect(await goesOn(waiting)).toBe(false);
    ledger.extended("r", "newer", EPOCH);
    expect(await goesOn(waiting)).toBe(false);
    ledger.extended("r", "newest", EPOCH + 1);
    expect(await goesOn(waiting)).toBe(true);
    ledger.extended("r", "held back for long", EPOCH);
    expect(wait()).toBeUndefined();
    expect(ledger.adopt()[0]?.leaseId).toBe("newest");
  });

  it("B3: it may not while a message that takes work away waits to be read", async () => {
    const { counters, gate, wait, goesOn } = bench();
    counters.tookWork();
    const waiting = wait();
    expect(await goesOn(waiting)).toBe(false);
    gate.onRevocation();
    expect(await goesOn(waiting)).toBe(true);
  });

  it("B4: who waits for what is no longer needed is let go", async () => {
    const { counters, ledger, wait } = bench();
    counters.epoch(EPOCH + 1);
    const waiting = wait();
    ledger.loseAll(new Error("over") as never);
    await expect(waiting).resolves.toBeUndefined();
    expect(wait()).toBeUndefined();
  });
});
