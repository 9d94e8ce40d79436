/** Partitions that are over, with runs of every kind, for tests of what is removed from them. */
import { silentLog, systemClock, systemRandom, systemTimers } from "@holdfast/core";
import { checkInvariants, type Retention, type RetentionPolicy, type Store } from "@holdfast/store";
import { waitFor } from "@holdfast/testing";
import { expect } from "vitest";
import { type Database, openDatabase } from "../../src/store-postgres/connection/database.ts";
import { logRow, runDone, type SeededRun, seedLeased, stepDone, useStore } from "./harness.ts";

export const WIDTH_MS = 1_000;
export const bench = useStore({ tablePartitionMs: WIDTH_MS });
export const NO_FUNCTIONS: ReadonlyMap<string, Retention> = new Map();
/** What completed goes at once, what failed after an hour. */
export const AT_ONCE: RetentionPolicy = { completedMs: 0, failedMs: 3_600_000, functions: NO_FUNCTIONS };

export const one = async (text: string): Promise<unknown> =>
  Object.values((await bench.db.sql.unsafe(text))[0] ?? {})[0];

export const partitionsOf = (table: string): Promise<{ name: string; kept: string | null; is_over: boolean }[]> =>
  bench.db.sql.unsafe(`SELECT name, kept, to_at < now() AS is_over FROM holdfast.table_partitions
    WHERE parent = '${table}' ORDER BY to_at`);

export const placeOf = (runId: string): Promise<unknown> =>
  one(`SELECT c.relname FROM holdfast.runs r JOIN pg_class c ON c.oid = r.tableoid WHERE r.id = '${runId}'`);

/** Until the partitions of these runs take no more. */
export async function untilOver(runIds: readonly string[]): Promise<void> {
  await waitFor(
    async () => {
      await bench.store.touchConnections("gateway-a", 60_000);
      const over = new Set(
        (await partitionsOf("runs")).filter(({ is_over: isOver }) => isOver).map(({ name }) => name),
      );
      const places = await Promise.all(runIds.map(placeOf));
      return places.every((name) => over.has(String(name)));
    },
    { what: "the partitions to be over" },
  );
}

export interface Seeded {
  readonly gone: readonly string[];
  readonly living: SeededRun;
  readonly failed: string;
  readonly held: string;
}

export async function seed(): Promise<Seeded> {
  // Together in one partition; one that is there.
  await bench.store.touchConnections("gateway-a", 60_000);
  const runs = await Promise.all(Array.from({ length: 8 }, () => seedLeased(bench.store)));
  const [living, failed, held, ...rest] = runs as [SeededRun, SeededRun, SeededRun, ...SeededRun[]];
  await bench.store.commit(stepDone(living, "kept"));
  await bench.store.commit({
    ...runDone(failed),
    log: [logRow("RUN_FAILED", "", { dataJson: '{"error":{}}' })],
    head: { status: "FAILED", errorJson: "{}" },
  });
  for (const run of [held, ...rest]) await bench.store.commit(runDone(run));
  await bench.store.holdRun(held.runId, "audit");
  return { gone: rest.map(({ runId }) => runId), living, failed: failed.runId, held: held.runId };
}

export async function expectPruned({ gone, living, failed, held }: Seeded): Promise<void> {
  expect(await bench.store.loadRuns(gone)).toEqual([]);
  const kept = await bench.store.loadRuns([living.runId, failed, held]);
  expect(kept.map(({ head, log }) => [head.id, log.length])).toEqual(
    [
      [living.runId, 3],
      [failed, 3],
      [held, 3],
    ].sort(),
  );
  expect(await bench.store.commit(runDone(living))).toMatchObject({ won: true, version: 2 });
  expect((await checkInvariants(bench.store)).broken).toEqual([]);
}

export async function pruneAll(store: Pick<Store, "prune">, policy = AT_ONCE): Promise<void> {
  await waitFor(async () => (await store.prune(policy, { sinceMs: await bench.store.nowMs() })).state === "done", {
    what: "old runs to go",
  });
}

export const leftBehind = (): Promise<unknown> =>
  one(`SELECT (SELECT count(*) FROM holdfast.table_rewrites) + (SELECT count(*) FROM holdfast.rewrite_changes)
    + (SELECT count(*) FROM pg_trigger WHERE tgname = 'note_change')
    + (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = 'holdfast' AND c.relkind = 'r' AND c.relname LIKE '%\\_kept\\_%' AND NOT c.relispartition)`);

export function openOwn(): Database {
  return openDatabase({
    url: bench.db.url,
    maxConnections: 3,
    retryForMs: 10_000,
    timers: systemTimers,
    random: systemRandom,
    monotonicMs: () => systemClock.monotonicMs(),
    log: silentLog,
  });
}
