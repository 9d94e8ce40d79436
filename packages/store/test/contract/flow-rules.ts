import { expect, test } from "vitest";
import type { FlowRule, IntakeItem, IntakeOutcome, Store, WindowEntry } from "../../src/index.ts";
import { type ContractBench, logRow, newId, newRun, passJob } from "./harness.ts";

const itemOf = (
  functionId: string,
  more: { flowRules?: readonly FlowRule[] },
  extra: Partial<IntakeItem> = {},
): IntakeItem => {
  const run = newRun({ functionId });
  return {
    event: { id: run.eventId, name: "shop/order", tsMs: 1, payloadJson: `{"name":"shop/order","n":"${run.eventId}"}` },
    runs: [
      { run, log: [logRow("RUN_CREATED"), logRow("DISPATCHED")], jobs: [passJob(run.id, { functionId })], ...more },
    ],
    ...extra,
  };
};
const intake = async (store: Store, item: IntakeItem): Promise<IntakeOutcome> =>
  ((await store.intake([item])) as [IntakeOutcome])[0];
const loose = { functionId: "", limit: 100 };
const claimLoose = (store: Store) => store.claim({ gatewayId: "gateway-a", leaseMs: 60_000, wants: [loose] });

export function flowRulesContract(bench: ContractBench): void {
  test("under two stores a rate limit and a singleton admit exactly as many runs as they should", async () => {
    const fn = `fn-${newId()}`;
    const flowRules = (): FlowRule[] => [
      { type: "rate", name: "rate", functionId: fn, key: "a", limit: 7, periodMs: 60_000 },
    ];
    const stores = [bench.store, bench.another()];
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, n) => intake(stores[n % 2] as Store, itemOf(fn, { flowRules: flowRules() }))),
    );
    expect(results.filter(({ skipped }) => skipped.length === 0)).toHaveLength(7);
    const one = `fn-${newId()}`;
    const single = (): FlowRule[] => [{ type: "single", functionId: one, key: "", mode: "skip", jobId: newId() }];
    const alone = await Promise.all(
      Array.from({ length: 20 }, (_, n) => intake(stores[n % 2] as Store, itemOf(one, { flowRules: single() }))),
    );
    expect(alone.filter(({ skipped }) => skipped.length === 0)).toHaveLength(1);
  });

  test("a singleton that cancels leaves one job for each run that is replaced", async () => {
    const fn = `fn-${newId()}`;
    const single = (): FlowRule[] => [{ type: "single", functionId: fn, key: "", mode: "cancel", jobId: newId() }];
    for (let n = 0; n < 3; n++) await intake(bench.store, itemOf(fn, { flowRules: single() }));
    const { runs } = await bench.store.listRuns({ functionId: fn, limit: 10 });
    expect(runs).toHaveLength(3);
    const [third, second, first] = runs.map(({ id }) => id);
    const jobs = (await claimLoose(bench.store)).filter(({ kind }) => kind === "cancel");
    expect(jobs.map(({ key }) => key).sort()).toEqual([`${first}\n${second}`, `${second}\n${third}`].sort());
    for (const job of jobs) await bench.store.finishJob({ jobId: job.id, epoch: job.epoch });
  });

  test("open windows are told with what they hold and when they are due, those of other functions are not", async () => {
    const fn = `fn-${newId()}`;
    const entry = (kind: "batch" | "debounce", key: string, maxSize: number): WindowEntry => ({
      ...{ kind, functionId: fn, key, jobIds: [newId(), newId()], periodMs: 60_000, timeoutMs: null },
      ...{ maxSize, flowRules: [] },
    });
    const send = async (window: WindowEntry): Promise<string> => {
      const item = { ...itemOf(fn, {}), runs: [], windows: [window] };
      await intake(bench.store, item);
      return item.event.id;
    };
    expect(await bench.store.openWindows([fn])).toEqual([]);
    await send(entry("debounce", "", 0));
    const last = await send(entry("debounce", "", 0));
    const full = [await send(entry("batch", "a", 2)), await send(entry("batch", "a", 2))];
    const next = await send(entry("batch", "a", 2));
    await send({ ...entry("batch", "a", 2), functionId: `${fn}-other` });
    const open = await bench.store.openWindows([fn, "nothing"]);
    expect(open.map(({ kind, count, eventIds }) => [kind, count, eventIds])).toEqual([
      ["batch", 1, [next]],
      ["debounce", 2, [last]],
      ["full", 2, full],
    ]);
    expect(open.map(({ functionId }) => functionId)).toEqual([fn, fn, fn]);
    const [batch, debounce, over] = open.map(({ dueInMs }) => dueInMs);
    expect([batch, debounce].every((ms) => ms !== undefined && ms > 0 && ms <= 60_000)).toBe(true);
    expect(over).toBe(0);
  });

  test("under two stores each event is in exactly one batch, and each batch starts one run", async () => {
    const fn = `fn-${newId()}`;
    const stores = [bench.store, bench.another()];
    const total = 47;
    const entry = (): WindowEntry => ({
      kind: "batch",
      functionId: fn,
      key: "",
      jobIds: [newId(), newId()],
      periodMs: 1,
      timeoutMs: null,
      maxSize: 5,
      flowRules: [],
    });
    const items = Array.from({ length: total }, () => ({ ...itemOf(fn, {}), runs: [], windows: [entry()] }));
    await Promise.all(items.map((item, n) => intake(stores[n % 2] as Store, item)));
    const batches: string[][] = [];
    const fire = async (store: Store): Promise<void> => {
      for (const job of await claimLoose(store)) {
        const fence = { jobId: job.id, epoch: job.epoch };
        const [kind, functionId, key, id] = job.key.split("\n") as ["batch", string, string, string];
        if (job.kind !== "window" || functionId !== fn) continue;
        const window = await store.loadWindow({ kind, functionId, key, id });
        if (!window) {
          await store.finishJob(fence);
          continue;
        }
        expect(await store.loadEvents(window.eventIds)).toHaveLength(window.eventIds.length);
        const made = itemOf(fn, {}, { storedEvents: window.eventIds });
        const source = { fence, window: { kind, functionId, key, id, count: window.count } };
        const outcome = await intake(store, { ...made, source });
        expect(outcome.lost).toBe(false);
        expect(await intake(store, { ...itemOf(fn, {}), source })).toMatchObject({ lost: true });
        batches.push([...window.eventIds]);
      }
    };
    for (let round = 0; batches.flat().length < total && round < 50; round++) await Promise.all(stores.map(fire));
    expect(batches.flat().sort()).toEqual(items.map(({ event }) => event.id).sort());
    expect(Math.max(...batches.map((batch) => batch.length))).toBeLessThanOrEqual(5);
    expect((await bench.store.listRuns({ functionId: fn, limit: 100 })).runs).toHaveLength(batches.length);
  });
}
