import type { AppRecord, IntakeItem, IntakeOutcome, NewCron, RegisteredCron, Store } from "@holdfast/store";
import { expect, test } from "vitest";

import { logRow, newId, newRun, passJob, useStore } from "./harness.ts";
import { whileHeld } from "./held-writes.ts";

const bench = useStore();
const CRON = "* * * * *";
const TRIGGERS = '[{"cron":"* * * * *"}]';
const HOUR_MS = 3_600_000;

/** An app with schedules of its own; the database is the whole file's. */
function newApp() {
  const id = `app-${newId()}`;
  const cron = (functionId: string, tickMs = Date.now() + HOUR_MS): NewCron => {
    return { functionId, appId: id, cron: CRON, jitterMs: 0, tickMs, dueMs: tickMs, jobId: newId() };
  };
  const read = (functionId: string): RegisteredCron => ({ ...cron(functionId), triggersJson: TRIGGERS });
  const record = (version: string, slugs: readonly string[], triggersJson = TRIGGERS): AppRecord => {
    const functions = slugs.map((slug) => ({ slug, name: slug, triggersJson, configJson: "{}" }));
    return { id, version, sdk: "test", functions };
  };
  const scheduled = async (): Promise<string[]> => {
    const rows = await bench.db
      .sql`SELECT key FROM holdfast.queue WHERE kind = 'cron' AND key LIKE ${`${id}%`} ORDER BY key`;
    return rows.map((row) => String(row.key).replace(`\n${CRON}`, ""));
  };
  const known = async (): Promise<string[]> => {
    const rows = await bench.db.sql`SELECT function_id FROM holdfast.crons WHERE app_id = ${id} ORDER BY function_id`;
    return rows.map((row) => String(row.function_id));
  };
  return { id, one: `${id}-one`, two: `${id}-two`, cron, read, record, scheduled, known };
}

function itemOf(functionId: string, source: NonNullable<IntakeItem["source"]>): IntakeItem {
  const run = newRun({ functionId });
  const event = { id: run.eventId, name: "shop/order", tsMs: 1, payloadJson: "{}" };
  const jobs = [passJob(run.id, { functionId })];
  return { event, source, runs: [{ run, log: [logRow("RUN_CREATED"), logRow("DISPATCHED")], jobs, flowRules: [] }] };
}

const intake = async (store: Store, item: IntakeItem): Promise<IntakeOutcome> =>
  ((await store.intake([item])) as [IntakeOutcome])[0];

test("each schedule has one job, which moves with its tick and is removed with its registration", async () => {
  const { id, one, two, cron, scheduled } = newApp();
  const pastMs = Date.now() - 60_000;
  const stores = [bench.store, bench.another()];
  await Promise.all(stores.map((store) => store.saveCrons([id], [], [cron(one, pastMs), cron(two)])));
  expect(await scheduled()).toEqual([one, two]);
  const wants = [{ functionId: "", limit: 100 }];
  const claims = await Promise.all(
    stores.map((store) => store.claim({ gatewayId: "gateway-a", leaseMs: 60_000, wants })),
  );
  const due = claims.flat().filter(({ kind }) => kind === "cron");
  expect(due.map(({ key }) => key)).toEqual([`${one}\n${CRON}`]);
  expect(await bench.store.loadCron(one, CRON)).toMatchObject({ tickMs: pastMs });
  const [job] = due;
  const fence = { jobId: job?.id ?? "", epoch: job?.epoch ?? 0 };
  const nextMs = pastMs + 120_000;
  const next = { tickMs: nextMs, dueMs: nextMs, jobId: newId() };
  const source = { fence, cron: { functionId: one, cron: CRON, next } };
  expect(await intake(bench.store, itemOf(one, source))).toMatchObject({ lost: false });
  expect(await intake(bench.store, itemOf(one, source))).toMatchObject({ lost: true });
  expect(await bench.store.loadCron(one, CRON)).toMatchObject({ tickMs: nextMs });
  expect(await scheduled()).toEqual([one, two]);
  await bench.store.saveCrons([id], [], [cron(two)]);
  expect(await scheduled()).toEqual([two]);
  expect(await bench.store.loadCron(one, CRON)).toBeNull();
  await bench.store.saveCrons([id], [], []);
  expect(await scheduled()).toEqual([]);
});

test("a repair recreates missing schedules and leaves existing ones unchanged", async () => {
  const { id, one, two, cron, read, record, scheduled } = newApp();
  const functions = await bench.store.saveApps([record("1", [one, two])]);
  await bench.store.saveCrons([id], functions, [cron(one), cron(two)]);
  const versions = () => bench.db.sql`SELECT xmin::text FROM holdfast.crons WHERE app_id = ${id} ORDER BY function_id`;
  const before = await versions();
  await bench.store.repairCrons([read(one), read(two)]);
  expect(await versions()).toEqual(before);
  await bench.db.sql`DELETE FROM holdfast.crons WHERE function_id = ${one}`;
  await bench.db.sql`DELETE FROM holdfast.queue WHERE kind = 'cron' AND key LIKE ${`${id}%`}`;
  await bench.store.repairCrons([read(one), read(two)]);
  expect(await scheduled()).toEqual([one, two]);
  expect(await bench.store.loadCron(one, CRON)).not.toBeNull();
});

test("a repair does not recreate a removed schedule, or one of a removed function", async () => {
  const { one, two, read, record, scheduled, known } = newApp();
  await bench.store.saveApps([record("1", [one, two])]);
  await bench.store.saveApps([record("2", [one], "[]")]);
  await bench.store.repairCrons([read(one), read(two)]);
  expect([await scheduled(), await known()]).toEqual([[], []]);
});

test("a registration waits for an earlier repair, and removes what that created", async () => {
  const { id, one, read, record, scheduled, known } = newApp();
  await bench.store.saveApps([record("1", [one])]);
  const other = bench.another();
  const { waited } = await whileHeld(
    bench.db.sql,
    { table: "queue", when: `new.kind = 'cron' AND new.key LIKE '${one}%'` },
    () => bench.store.repairCrons([read(one)]),
    async () => {
      const functions = await other.saveApps([record("2", [one], "[]")]);
      await other.saveCrons([id], functions, []);
    },
  );
  expect(waited).toBe(true);
  expect([await scheduled(), await known()]).toEqual([[], []]);
});

test("a repair waits for an earlier registration, and does not recreate what that removes", async () => {
  const { id, one, read, record, scheduled, known } = newApp();
  await bench.store.saveApps([record("1", [one])]);
  const other = bench.another();
  const { waited } = await whileHeld(
    bench.db.sql,
    { table: "functions", when: `new.slug = '${one}'` },
    async () => {
      const functions = await other.saveApps([record("2", [one], "[]")]);
      await other.saveCrons([id], functions, []);
    },
    () => bench.store.repairCrons([read(one)]),
  );
  expect(waited).toBe(true);
  expect([await scheduled(), await known()]).toEqual([[], []]);
});

test("late schedules of replaced functions change nothing", async () => {
  const { id, one, two, cron, record, scheduled } = newApp();
  const late = await bench.store.saveApps([record("1", [one, two])]);
  const functions = await bench.store.saveApps([record("2", [one])]);
  await bench.store.saveCrons([id], functions, [cron(one)]);
  await bench.store.saveCrons([id], late, [cron(two)]);
  expect(await scheduled()).toEqual([one]);
  const third = await bench.store.saveApps([record("3", [one], "[]")]);
  await bench.store.saveCrons([id], functions, [cron(one), cron(two)]);
  await bench.store.saveCrons([id], third, []);
  expect(await scheduled()).toEqual([]);
});

test("a registration waits for a concurrent one that saves its schedules, and replaces them", async () => {
  const { id, one, cron, record, scheduled } = newApp();
  const functions = await bench.store.saveApps([record("1", [one])]);
  const other = bench.another();
  const { waited } = await whileHeld(
    bench.db.sql,
    { table: "queue", when: `new.kind = 'cron' AND new.key LIKE '${one}%'` },
    () => bench.store.saveCrons([id], functions, [cron(one)]),
    async () => {
      const next = await other.saveApps([record("2", [one], "[]")]);
      await other.saveCrons([id], next, []);
    },
  );
  expect([waited, await scheduled()]).toEqual([true, []]);
});
