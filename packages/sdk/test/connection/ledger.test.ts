import { HoldfastError } from "@holdfast/core";
import { fakeClock } from "@holdfast/testing";
import { describe, expect, it } from "vitest";
import { Ledger } from "../../src/connection/main/ledger.ts";
import type { LedgerOutcome } from "../../src/connection/shared/messages.ts";

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
const lost = new HoldfastError("LEASE_LOST", "Another worker has it.");
const ops = (...bytes: number[]): Uint8Array => Uint8Array.from(bytes);
const reply = (...bytes: number[]): LedgerOutcome => ({ kind: "response", response: ops(...bytes) });

function opened() {
  const clock = fakeClock();
  const ledger = new Ledger(clock);
  return { clock, ledger, signal: ledger.open(identity, "app", "lease-1", 1, null) };
}

describe("Ledger", () => {
  it("LEDGER-1: an entry exists once, and stays with its reply until that is acknowledged", () => {
    const { ledger } = opened();
    expect(ledger.open(identity, "app", "other", 9, null)).toBeUndefined();
    expect(ledger.finish("r", reply(1))).toBe(true);
    expect([ledger.size, ledger.running]).toEqual([1, 0]);
    expect(ledger.remove("r")).toBe(true);
    expect(ledger.remove("r")).toBe(false);
    expect([ledger.size, ledger.running]).toEqual([0, 0]);
  });

  it("LEDGER-1: an entry whose lease is lost is removed and frees its slot", () => {
    const { ledger } = opened();
    ledger.lose("r", lost);
    expect([ledger.size, ledger.running]).toEqual([0, 0]);
  });

  it("LEDGER-2: a new thread gets the newest lease, each unanswered checkpoint and the exact reply", async () => {
    const { clock, ledger } = opened();
    ledger.addCheckpoint("r", ops(1));
    ledger.addCheckpoint("r", ops(2));
    ledger.settleCheckpoint("r", 1, "stored");
    ledger.extendLease("r", "lease-2", 1, null);
    ledger.finish("r", reply(7, 8));
    await clock.advance(250);
    expect(ledger.requestsToAdopt()).toEqual([
      {
        identity,
        appName: "app",
        leaseId: "lease-2",
        ageMs: 250,
        outcome: reply(7, 8),
        checkpoints: [{ sequence: 2, ops: ops(2) }],
      },
    ]);
  });

  it("LEDGER-3: the first answer settles a checkpoint; checkpoints left open by a removed entry are stale", async () => {
    const { ledger } = opened();
    const one = ledger.addCheckpoint("r", ops(1));
    const two = ledger.addCheckpoint("r", ops(2));
    ledger.settleCheckpoint("r", 1, "stored");
    ledger.settleCheckpoint("r", 1, "invalid");
    ledger.remove("r");
    expect(await Promise.all([one?.answer, two?.answer])).toEqual(["stored", "stale"]);
    expect(ledger.addCheckpoint("r", ops(3))).toBeUndefined();
  });

  it("LEDGER-4: the first outcome of an entry stays, and its signal fires at most once", () => {
    const { ledger, signal } = opened();
    const other = new HoldfastError("DRAIN_TIMEOUT", "Too late.");
    ledger.cancel("r", lost);
    ledger.cancel("r", other);
    ledger.lose("r", other);
    expect(signal?.reason).toBe(lost);
    const done = opened();
    expect(done.ledger.finish("r", reply(1))).toBe(true);
    expect(done.ledger.finish("r", reply(2))).toBe(false);
    expect(done.ledger.requestsToAdopt()[0]?.outcome).toEqual(reply(1));
    done.ledger.cancel("r", lost);
    done.ledger.lose("r", lost);
    expect(done.signal?.reason).toBeUndefined();
  });

  it("LEDGER-5: an answer from before the last doubt changes nothing", () => {
    const { ledger } = opened();
    ledger.extendLease("r", "lease-3", 3, null);
    ledger.extendLease("r", "lease-2", 2, null);
    expect(ledger.doubtNumberOf("r")).toBe(3);
    expect(ledger.requestsToAdopt()[0]?.leaseId).toBe("lease-3");
    const known = { monotonicMs: 50, wallMs: 1_000 };
    ledger.extendLease("r", "lease-4", 3, known);
    ledger.extendLease("r", "lease-5", 3, { monotonicMs: 20, wallMs: 2_000 });
    expect(ledger.confirmedAsOf("r")).toEqual(known);
  });
});
