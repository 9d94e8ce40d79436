import { nextTurn, silentLog } from "@holdfast/core";
import type { Input } from "@holdfast/engine";
import type { Fence, LeaseRelease, StoredWait, WaitQuery } from "@holdfast/store";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { DispatcherOptions } from "../../src/dispatch/ports.ts";
import type { DecideOutcome } from "../../src/dispatch/queue/decide-outcome.ts";
import { WaitNotifier, type WaitNotifierParts } from "../../src/dispatch/queue/wait-notifier.ts";

const EVENT = { id: "event", name: "shop/paid", payloadJson: '{"name":"shop/paid","data":{}}' };
const FENCE: Fence = { jobId: "event", epoch: 1 };

const waitOf = (n: number, kind: "event" | "cancel" = "event"): StoredWait => ({
  runId: `run-${String(n).padStart(3, "0")}`,
  key: "w",
  kind,
  name: EVENT.name,
  expression: null,
  match: "",
  beganMs: 0,
  expiresMs: null,
});

/** Waits for one event, and what each decision on it comes to. */
function bench(waits: readonly StoredWait[], outcomeOf: (runId: string) => DecideOutcome = () => "won") {
  const finished: Fence[] = [];
  const released: LeaseRelease[] = [];
  const applied: { readonly runId: string; readonly type: Input["type"]; readonly endsJob: string | undefined }[] = [];
  const store = {
    waitPaths: async () => [],
    findWaits: async ({ after, limit }: WaitQuery) =>
      waits.filter(({ runId }) => runId > (after?.runId ?? "")).slice(0, limit),
    finishJob: async (fence: Fence) => finished.push(fence) > 0,
    releaseLeases: async (leases: readonly LeaseRelease[]) => {
      released.push(...leases);
      return leases.map(() => true);
    },
  };
  const apply = async (runId: string, { type }: Input, _: Fence | null, endsJob?: string) => {
    applied.push({ runId, type, endsJob });
    return outcomeOf(runId);
  };
  const updater = { apply, endStep: apply };
  const state = { open: new Map(), memo: new Map() };
  const runs = { retain: () => {}, release: () => {}, loadWith: async () => state } satisfies Record<
    keyof WaitNotifierParts["runs"],
    unknown
  >;
  const options = { store, timers: fakeClock(), log: silentLog, settings: { gatewayId: "g" } };
  const notifier = new WaitNotifier(
    options as unknown as DispatcherOptions,
    { runs, updater } as unknown as WaitNotifierParts,
  );
  const notify = async (): Promise<void> => {
    notifier.startJob({ kind: "event", key: EVENT.id, event: EVENT }, FENCE);
    // All that it asks for is answered in the same turn.
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    await notifier.stop();
  };
  return { applied, finished, released, notify, notifier };
}

test.each(["event", "cancel"] as const)("the job of an event ends with the only run that waits: %s", async (kind) => {
  const { applied, finished, notify } = bench([waitOf(1, kind)]);
  await notify();
  const type = kind === "event" ? "arrived" : "cancel";
  expect(applied).toEqual([{ runId: "run-001", type, endsJob: "event" }]);
  expect(finished).toEqual([]);
});

test("where several runs wait, or none does, the job ends when all of them were notified", async () => {
  for (const count of [0, 2, 200, 201, 450]) {
    const waits = Array.from({ length: count }, (_, n) => waitOf(n));
    const { applied, finished, notify } = bench(waits);
    await notify();
    expect(applied.map(({ runId }) => runId)).toEqual(waits.map(({ runId }) => runId));
    expect(applied.every(({ endsJob }) => endsJob === undefined)).toBe(true);
    expect(finished).toEqual([FENCE]);
  }
});

test("a decision that was not stored ends no job: that is ended by itself", async () => {
  for (const outcome of ["nothing", "stale", "gone"] as const) {
    const { applied, finished, notify } = bench([waitOf(1)], () => outcome);
    await notify();
    expect(applied).toHaveLength(1);
    expect(finished).toEqual([FENCE]);
  }
});

test("a gateway that stops before all were notified gives the job back", async () => {
  const { applied, finished, released, notify, notifier } = bench([waitOf(1)]);
  await notifier.stop();
  await notify();
  expect([applied, finished]).toEqual([[], []]);
  expect(released).toEqual([{ ...FENCE, lost: false, heldBy: "g" }]);
});
