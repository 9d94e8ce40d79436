import type { FlowRule, IntakeItem, IntakeOutcome, Store, WindowEntry, WindowKey } from "@holdfast/store";
import { describe, expect, test } from "vitest";

import { logRow, newId, newRun, passJob, runDone, seedLeased, useStore } from "./harness.ts";
import { standing, whileHeld } from "./held-writes.ts";

/** Two stores decide on one flowRule at the same moment: one stands right before its commit while the other one begins. */
const bench = useStore();

const HELD = { table: "events", when: "new.payload LIKE '%held%'" } as const;

/** An event, with a run that has to pass these flowRules. */
function itemOf(
  functionId: string,
  flowRules: readonly FlowRule[],
  more: Partial<IntakeItem> = {},
  mark = "",
): IntakeItem {
  const run = newRun({ functionId });
  const jobs = [passJob(run.id, { functionId })];
  const event = { id: run.eventId, name: "shop/order", tsMs: 1, payloadJson: JSON.stringify({ mark }) };
  return { event, runs: [{ run, log: [logRow("RUN_CREATED"), logRow("DISPATCHED")], jobs, flowRules }], ...more };
}

const intake = async (store: Store, item: IntakeItem): Promise<IntakeOutcome> =>
  ((await store.intake([item])) as [IntakeOutcome])[0];

/** How the runs of two events come off that arrive at two stores at once, and whether the second waited for the first. */
async function atOnce(functionId: string, flowRules: () => readonly FlowRule[]): Promise<object> {
  const [first, second] = [itemOf(functionId, flowRules(), {}, "held"), itemOf(functionId, flowRules())];
  const other = bench.another();
  const result = await whileHeld(
    bench.db.sql,
    HELD,
    () => intake(bench.store, first),
    () => intake(other, second),
  );
  const runs = [result.first, result.second].map(({ skipped }) => skipped.length === 0);
  return { runs, waited: result.waited, ids: [first, second].map(({ runs: [one] }) => one?.run.id) };
}

describe("Flow rules under concurrency", () => {
  const rate = (functionId: string, limit: number, name: "rate" | "idempotency" = "rate"): FlowRule => {
    return { type: "rate", name, functionId, key: "k", limit, periodMs: 3_600_000 };
  };
  const single = (functionId: string, mode: "skip" | "cancel"): FlowRule => {
    return { type: "single", functionId, key: "", mode, jobId: newId() };
  };

  test("rateLimit with one place left admits one of two concurrent runs", async () => {
    const fn = `fn-${newId()}`;
    await intake(bench.store, itemOf(fn, [rate(fn, 2)]));
    expect(await atOnce(fn, () => [rate(fn, 2)])).toMatchObject({ runs: [true, false], waited: true });
  });

  test("rateLimit admits one of two concurrent runs even before its first run", async () => {
    const fn = `fn-${newId()}`;
    expect(await atOnce(fn, () => [rate(fn, 1)])).toMatchObject({ runs: [true, false], waited: true });
  });

  test("idempotency admits one of two concurrent runs with one key", async () => {
    const fn = `fn-${newId()}`;
    // The key's period before is over: its row is there and lets one through.
    await intake(bench.store, itemOf(fn, [{ ...rate(fn, 1, "idempotency"), periodMs: 1 } as FlowRule]));
    const [row] = await bench.db.sql`UPDATE holdfast.gates SET at = at - interval '2 hours' WHERE function_id = ${fn}
      RETURNING count`;
    expect(row?.count).toBe(1);
    expect(await atOnce(fn, () => [rate(fn, 1, "idempotency")])).toMatchObject({ runs: [true, false], waited: true });
  });

  test("singleton with skip admits one of two concurrent runs", async () => {
    const fn = `fn-${newId()}`;
    await intake(bench.store, itemOf(fn, [single(fn, "skip")]));
    const { runs } = await bench.store.listRuns({ functionId: fn, limit: 1 });
    const [job] = await bench.store.claim({
      gatewayId: "gateway-a",
      leaseMs: 60_000,
      wants: [{ functionId: fn, limit: 1 }],
    });
    const done = runDone({ runId: runs[0]?.id ?? "", jobId: job?.id ?? "" }, "live");
    expect(await bench.store.commit(done)).toMatchObject({ won: true });
    expect(await atOnce(fn, () => [single(fn, "skip")])).toMatchObject({ runs: [true, false], waited: true });
  });

  test("with singleton cancel, the second concurrent run cancels the first, not the previous one again", async () => {
    const fn = `fn-${newId()}`;
    const before = itemOf(fn, [single(fn, "cancel")]);
    await intake(bench.store, before);
    const { ids, ...result } = (await atOnce(fn, () => [single(fn, "cancel")])) as { ids: string[] };
    expect(result).toEqual({ runs: [true, true], waited: true });
    const jobs = await bench.db.sql`SELECT key FROM holdfast.queue WHERE kind = 'cancel' AND key LIKE ${`%${ids[0]}%`}`;
    const pairs = [
      [before.runs[0]?.run.id, ids[0]],
      [ids[0], ids[1]],
    ];
    expect(jobs.map(({ key }) => String(key)).sort()).toEqual(pairs.map((pair) => pair.join("\n")).sort());
  });
});

describe.each(["debounce", "batch"] as const)("Windows under concurrency: %s", (kind) => {
  const entryOf = (functionId: string): WindowEntry => {
    const jobIds = [newId(), newId()] as const;
    return { kind, functionId, key: "", jobIds, periodMs: 1, timeoutMs: null, maxSize: 10, flowRules: [] };
  };
  const joining = (functionId: string, mark = ""): IntakeItem => {
    return { ...itemOf(functionId, [], { windows: [entryOf(functionId)] }, mark), runs: [] };
  };
  /** Events of the open window, as far as its kind keeps them. */
  const openWindow = async (functionId: string) => {
    const [row] = await bench.db.sql`SELECT run_id, count, data FROM holdfast.gates
      WHERE function_id = ${functionId} AND kind = ${kind}`;
    const [, ...events] = String(row?.data).split(" ");
    return { id: String(row?.run_id), count: Number(row?.count), events };
  };
  const idsOf = (...items: IntakeItem[]): string[] => items.map(({ event }) => event.id);
  /** The intake that makes a run of the window, as it was read. */
  const firing = async (functionId: string): Promise<IntakeItem> => {
    const { id, count, events } = await openWindow(functionId);
    const due = await bench.store.claim({
      gatewayId: "gateway-a",
      leaseMs: 60_000,
      wants: [{ functionId: "", limit: 100 }],
    });
    const job = due.find((one) => one.id === id);
    expect(job?.kind).toBe("window");
    const window: WindowKey & { id: string; count: number } = { functionId, kind, key: "", id, count };
    const source = { fence: { jobId: id, epoch: job?.epoch ?? 0 }, window };
    return itemOf(functionId, [], { source, storedEvents: events });
  };

  test("two events that join a window concurrently are both in it", async () => {
    const fn = `fn-${newId()}`;
    const items = [joining(fn), joining(fn, "held"), joining(fn)] as const;
    await intake(bench.store, items[0]);
    const other = bench.another();
    const { waited } = await whileHeld(
      bench.db.sql,
      HELD,
      () => intake(bench.store, items[1]),
      () => intake(other, items[2]),
    );
    expect(waited).toBe(true);
    const { count, events } = await openWindow(fn);
    expect(count).toBe(3);
    expect(events).toEqual(kind === "batch" ? idsOf(...items) : idsOf(items[2]));
  });

  test("an event that arrives while its window becomes a run opens a new window", async () => {
    const fn = `fn-${newId()}`;
    const [before, next] = [joining(fn, "held"), joining(fn)];
    await intake(bench.store, before);
    const fire = await firing(fn);
    const other = bench.another();
    // The run's event is marked: making it touches the event's row.
    const { first, waited } = await whileHeld(
      bench.db.sql,
      HELD,
      () => intake(bench.store, fire),
      () => intake(other, next),
    );
    expect([first.lost, waited]).toEqual([false, true]);
    expect(await openWindow(fn)).toMatchObject({ count: 1, events: idsOf(next) });
  });

  test("a window does not become a run without an event that is joining it", async () => {
    const fn = `fn-${newId()}`;
    const [before, next] = [joining(fn), joining(fn, "held")];
    await intake(bench.store, before);
    const fire = await firing(fn);
    const other = bench.another();
    const { second, waited } = await whileHeld(
      bench.db.sql,
      HELD,
      () => intake(bench.store, next),
      () => intake(other, fire),
    );
    expect([second.lost, waited]).toEqual([true, true]);
    const { count, events } = await openWindow(fn);
    expect([count, events]).toEqual([2, kind === "batch" ? idsOf(before, next) : idsOf(next)]);
  });
});

test("of two concurrent events with one idempotency key one is stored", async () => {
  const fn = `fn-${newId()}`;
  const keyed = (mark: string): IntakeItem => {
    const item = itemOf(fn, [], {}, mark);
    return { ...item, event: { ...item.event, idempotencyKey: fn } };
  };
  const [one, two] = [keyed("held"), keyed("")];
  const other = bench.another();
  const { first, second, waited } = await whileHeld(
    bench.db.sql,
    HELD,
    () => intake(bench.store, one),
    () => intake(other, two),
  );
  expect(first).toMatchObject({ eventId: one.event.id, duplicate: false });
  expect(second).toMatchObject({ eventId: one.event.id, duplicate: true });
  expect(waited).toBe(true);
});

test("of two steps that concurrently begin to wait for a signal one succeeds", async () => {
  const runs = [await seedLeased(bench.store), await seedLeased(bench.store)] as const;
  const signal = `signal ${newId()}`;
  const waiting = ({ runId, jobId }: (typeof runs)[0], key: string) => ({
    runId,
    fence: { jobId, epoch: 1 },
    cas: "live" as const,
    log: [logRow("STEP_WAITING", key)],
    removeJobs: [],
    addJobs: [passJob(runId, { kind: "timer", key, functionId: "", delayMs: 3_600_000 })],
    addWaits: [{ runId, key, kind: "signal" as const, name: signal, conflict: "fail" as const }],
  });
  const other = bench.another();
  const result = await whileHeld(
    bench.db.sql,
    { table: "queue", when: "new.key = 'held'" },
    () => bench.store.commit(waiting(runs[0], "held")),
    () => other.commit(waiting(runs[1], "w")),
  );
  expect(result).toMatchObject({ first: { won: true }, second: { won: false, why: "signal" }, waited: true });
});

test.each([
  { what: "a decision that removes all jobs", removeJobs: "all" as const },
  { what: "a decision that removes some", removeJobs: [] },
])(
  "a job is not claimed while $what of its run is made under its fence, and the claim does not block",
  async (each) => {
    const fn = `fn-${newId()}`;
    const run = await seedLeased(bench.store, fn, 1);
    const other = bench.another();
    const row = await bench.db.sql.reserve();
    await row`BEGIN`;
    // The decision has looked at its job by then, and has written nothing yet.
    await row`SELECT id FROM holdfast.runs WHERE id = ${run.runId} FOR UPDATE`;
    const removeJobs = each.removeJobs === "all" ? ("all" as const) : [run.jobId];
    const decided = bench.store.commit({ ...runDone(run), removeJobs });
    try {
      await standing(bench.db.sql, 1);
      const wants = [{ functionId: fn, limit: 1 }];
      expect(await other.claim({ gatewayId: "gateway-b", leaseMs: 60_000, wants })).toEqual([]);
    } finally {
      await row`COMMIT`;
      row.release();
    }
    expect(await decided).toMatchObject({ won: true });
  },
);
