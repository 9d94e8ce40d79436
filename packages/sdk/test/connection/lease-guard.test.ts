import { readClocks } from "@holdfast/core";
import { fakeClock } from "@holdfast/testing";
import { describe, expect, it } from "vitest";
import { LeaseGuard } from "../../src/connection/main/lease-guard.ts";
import { Ledger } from "../../src/connection/main/ledger.ts";
import type { RequestIdentity } from "../../src/connection/shared/reply.ts";
import { COUNTERS_BYTES, sharedCounters } from "../../src/connection/shared/shared-counters.ts";

const identity = { requestId: "r", runId: "run" } as RequestIdentity;
const DOUBT = 4;

/** Main with one request, and a thread that says of itself only what the test says. */
function bench() {
  const clock = fakeClock();
  const counters = sharedCounters(new SharedArrayBuffer(COUNTERS_BYTES));
  const alive = (): void => counters.signAlive(readClocks(clock));
  counters.setSuspensionLimit(2_000);
  counters.setDoubtNumber(DOUBT);
  alive();
  const ledger = new Ledger(clock);
  const signal = ledger.open(identity, "app", "lease", DOUBT, readClocks(clock));
  if (signal === undefined) throw new Error("The ledger knows it already.");
  const wanted: boolean[] = [];
  const gate = new LeaseGuard({
    counters: () => counters,
    ledger,
    clock,
    setLeaseWanted: (_, isWanted) => wanted.push(isWanted),
  });
  const wait = (): Promise<void> | undefined => gate.whenConfirmed("r", signal);
  /** Whether what waits goes on once the gate has looked. */
  const goesOn = async (waiting: Promise<void> | undefined): Promise<boolean> => {
    gate.recheck();
    return Promise.race([waiting?.then(() => true) ?? true, Promise.resolve().then(() => Promise.resolve(false))]);
  };
  return { clock, counters, alive, ledger, gate, wait, goesOn, wanted };
}

describe("Lease guard", () => {
  it("a body starts without a query soon after the gateway's last message", async () => {
    const { clock, alive, wait, ledger, wanted } = bench();
    expect(wait()).toBeUndefined();
    await clock.advance(1_900);
    alive();
    expect(wait()).toBeUndefined();
    ledger.extendLease("r", "lease 2", DOUBT, readClocks(clock));
    await clock.advance(1_900);
    alive();
    expect(wait()).toBeUndefined();
    // What is stored says that it is ours.
    const checkpoint = ledger.addCheckpoint("r", new Uint8Array(0));
    ledger.settleCheckpoint("r", checkpoint?.sequence ?? 0, "stored");
    await clock.advance(1_900);
    alive();
    expect(wait()).toBeUndefined();
    expect(wanted).toEqual([]);
  });

  it("GUARD-5: a body that waits because the gateway's last message is old queries the gateway once", async () => {
    const { clock, alive, wait, ledger, goesOn, wanted } = bench();
    await clock.advance(2_100);
    alive();
    const waiting = wait();
    expect(await goesOn(waiting)).toBe(false);
    expect(await goesOn(waiting)).toBe(false);
    expect(wanted).toEqual([true]);
    const asked = readClocks(clock);
    await clock.advance(2_100);
    alive();
    ledger.extendLease("r", "an answer that came late", DOUBT, asked);
    expect(await goesOn(waiting)).toBe(false);
    ledger.extendLease("r", "the next", DOUBT, readClocks(clock));
    ledger.extendLease("r", "held back for long", DOUBT, asked);
    expect(await goesOn(waiting)).toBe(true);
    expect(wanted).toEqual([true, false]);
    expect(wait()).toBeUndefined();
  });

  it("GUARD-5: invalid checkpoint answers and removed entries do not count as a confirmation", async () => {
    const { clock, alive, wait, ledger, wanted } = bench();
    const checkpoint = ledger.addCheckpoint("r", new Uint8Array(0));
    await clock.advance(1_000);
    ledger.settleCheckpoint("r", checkpoint?.sequence ?? 0, "invalid");
    await clock.advance(1_500);
    alive();
    const waiting = wait();
    expect(wanted).toEqual([true]);
    ledger.loseAll(new Error("over") as never);
    await waiting;
    expect(wanted).toEqual([true, false]);
  });

  it("GUARD-5: a machine that slept after the last message makes it old, even if the monotonic clock stood still", async () => {
    const { clock, alive, wait, wanted } = bench();
    clock.setWallClock(clock.nowMs() + 3_600_000);
    alive();
    expect(wait()).toBeInstanceOf(Promise);
    expect(wanted).toEqual([true]);
  });

  it("GUARD-5: a new thread is told which requests wait for confirmation", async () => {
    const { clock, alive, gate, wait, wanted } = bench();
    await clock.advance(2_100);
    alive();
    expect(wait()).toBeInstanceOf(Promise);
    gate.onNewThread();
    gate.recheck();
    expect(wanted).toEqual([true, true]);
  });

  it("GUARD-1: no body starts while the thread is silent, until the thread finds that it was not suspended", async () => {
    const { clock, alive, ledger, wait, goesOn } = bench();
    await clock.advance(2_100);
    const waiting = wait();
    expect(await goesOn(waiting)).toBe(false);
    alive();
    ledger.extendLease("r", "lease 2", DOUBT, readClocks(clock));
    expect(await goesOn(waiting)).toBe(true);
    expect(wait()).toBeUndefined();
  });

  it("GUARD-1: a young message of the gateway does not speak for a thread that is silent", async () => {
    const { clock, alive, ledger, wait, goesOn, wanted } = bench();
    await clock.advance(2_100);
    ledger.extendLease("r", "lease 2", DOUBT, readClocks(clock));
    const waiting = wait();
    expect(await goesOn(waiting)).toBe(false);
    // Nothing is wrong with the lease: only the thread is waited for.
    expect(wanted).toEqual([]);
    alive();
    expect(await goesOn(waiting)).toBe(true);
  });

  it("GUARD-1: when the machine slept and the main thread wakes first, its wall clock shows it", async () => {
    const { clock, wait } = bench();
    clock.setWallClock(clock.nowMs() + 3_600_000);
    expect(wait()).toBeInstanceOf(Promise);
  });

  it("GUARD-2: no body starts after a doubt until its lease has been confirmed anew", async () => {
    const { counters, alive, ledger, wait, goesOn } = bench();
    counters.setDoubtNumber(DOUBT + 1);
    alive();
    const waiting = wait();
    expect(await goesOn(waiting)).toBe(false);
    ledger.extendLease("r", "newer", DOUBT, null);
    expect(await goesOn(waiting)).toBe(false);
    ledger.extendLease("r", "newest", DOUBT + 1, null);
    expect(await goesOn(waiting)).toBe(true);
    ledger.extendLease("r", "held back for long", DOUBT, null);
    expect(wait()).toBeUndefined();
    expect(ledger.requestsToAdopt()[0]?.leaseId).toBe("newest");
  });

  it("GUARD-3: no body starts while an unread message may take its work away", async () => {
    const { counters, gate, wait, goesOn } = bench();
    counters.addRevocation();
    const waiting = wait();
    expect(await goesOn(waiting)).toBe(false);
    gate.onRevocation();
    expect(await goesOn(waiting)).toBe(true);
  });

  it("GUARD-4: a body that waits for a request that is no longer needed is released", async () => {
    const { counters, ledger, wait } = bench();
    counters.setDoubtNumber(DOUBT + 1);
    const waiting = wait();
    ledger.loseAll(new Error("over") as never);
    await expect(waiting).resolves.toBeUndefined();
    expect(wait()).toBeUndefined();
  });
});
