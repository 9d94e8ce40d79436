import type { AppRecord, NewCron, RegisteredCron } from "@holdfast/store";
import { expect, test } from "vitest";

import { newId, useStore } from "./harness.ts";
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
