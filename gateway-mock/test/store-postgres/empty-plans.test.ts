import type { Lane, LanesAdopted } from "@holdfast/store";
import type { TransactionSql } from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate } from "../../src/store-postgres/connection/migrate.ts";
import { textArray } from "../../src/store-postgres/connection/pg-values.ts";
import type { Param, Query } from "../../src/store-postgres/connection/query.ts";
import { adoptLanes } from "../../src/store-postgres/queue/adopted-lanes.ts";
import { extendLeases, releaseLeases } from "../../src/store-postgres/queue/leases.ts";
import { loadEvents } from "../../src/store-postgres/queue/windows.ts";
import { eventsOfKeys } from "../../src/store-postgres/reads.ts";
import { openTidier } from "../../src/store-postgres/tidy.ts";
import { unmovedRuns } from "../../src/store-postgres/waiting.ts";
import { finishJobs } from "../../src/store-postgres/waits.ts";
import { lockFlowRules } from "../../src/store-postgres/writer/flow-rule-rows.ts";
import { JOBS_BY_ID_AND_RUN } from "../../src/store-postgres/writer/sql.ts";
import { createTestDatabase, type TestDatabase } from "./harness.ts";
import { addJobs } from "./long-queues.ts";
import { executed } from "./pages-read.ts";

/** Gateways plan a statement once, and the queue may have been empty then: after a quiet night, or a vacuum. */
const LONG = 20_000;
const AT_ONCE = 100;

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
  await migrate(db.url);
  await db.sql.unsafe("VACUUM ANALYZE holdfast.queue");
});

afterAll(() => db.drop());

interface Statement {
  readonly text: string;
  readonly params: readonly Param[];
}

/** The first statement of a call, which finds nothing, or the one whose text begins so. */
async function statementOf(call: (query: Query) => Promise<unknown>, begins = ""): Promise<Statement> {
  const asked: Statement[] = [];
  await call(async (text: string, params: readonly Param[] = []) => {
    asked.push({ text, params });
    return [];
  });
  return asked.find(({ text }) => text.startsWith(begins)) as Statement;
}

type Statements = Readonly<Record<string, (ids: readonly string[]) => Promise<Statement>>>;

const ofJobs: Statements = {
  "jobs of a batch": async (ids) => ({
    text: JOBS_BY_ID_AND_RUN,
    params: [textArray(ids), textArray(ids.map((id) => `run ${id}`)), textArray([])],
  }),
  "leases extended": (ids) =>
    statementOf((query) =>
      extendLeases(
        query,
        ids.map((jobId) => ({ jobId, epoch: 0, gatewayId: "gateway", leaseMs: 60_000 })),
      ),
    ),
  "leases released": (ids) =>
    statementOf((query) =>
      releaseLeases(
        query,
        ids.map((jobId) => ({ jobId, epoch: 0, lost: false })),
      ),
    ),
  "jobs taken into a lane": () => statementOf((query) => adopt(query, null)),
  "jobs taken into the only lane": () =>
    statementOf((query) => adopt(query, { id: "aa", slots: ["s"], throttle: null })),
  "runs that nothing moves": () => statementOf((query) => unmovedRuns(query, { limit: AT_ONCE })),
  "jobs finished": (ids) =>
    statementOf((query) =>
      finishJobs(
        query,
        ids.map((jobId) => ({ jobId, epoch: 0 })),
      ),
    ),
};

const adopt = (query: Query, lane: Lane | null): Promise<LanesAdopted> =>
  adoptLanes(query, [{ functionId: "limited", lane }], null);

const TIDIED = { monotonicMs: () => 0 };
const KEYS = "WITH gone AS (DELETE FROM holdfast.event_keys";

const ofRows: Statements = {
  "events by their senders' ids": (ids) =>
    statementOf((query) =>
      eventsOfKeys(
        { query },
        ids.map((key) => ({ name: "shop/paid", key })),
      ),
    ),
  "events of a window": (ids) => statementOf((query) => loadEvents(query, ids)),
  "rows of flow rules": (ids) =>
    statementOf((query) => {
      const rows = ids.map((key) => ({ functionId: "fn", kind: "single" as const, key }));
      return lockFlowRules(query, rows);
    }, "SELECT g.function_id"),
  "senders' ids that are over": () => statementOf((query) => openTidier({ query, ...TIDIED })(), KEYS),
  "rows of flow rules that are over": () => statementOf((query) => openTidier({ query, ...TIDIED })(), "WITH past"),
};

/** What each of them reads, planned while the tables were empty. `fill` answers with ids for their parameters. */
async function expectFewPages(
  statements: Statements,
  fill: (tx: TransactionSql) => Promise<readonly string[]>,
): Promise<void> {
  await db.sql
    .begin(async (tx) => {
      for (const [name, value] of Object.entries({ enable_seqscan: "off", plan_cache_mode: "force_generic_plan" }))
        await tx.unsafe(`SET LOCAL ${name} = '${value}'`);
      const planned = await Promise.all(
        Object.entries(statements).map(async ([what, make], index) => ({ what, make, name: `planned_${index}` })),
      );
      for (const { make, name } of planned) {
        const { text, params } = await make(["none"]);
        await tx.unsafe(`PREPARE ${name} AS ${text}`);
        await executed(tx, name, params);
      }
      const ids = await fill(tx);
      for (const { what, make, name } of planned) {
        const { params } = await make(ids);
        const { pages, pairs, rows } = await executed(tx, name, params);
        expect({ what, pairs }).toEqual({ what, pairs: 0 });
        expect(pages, what).toBeLessThan(AT_ONCE * 40);
        // A page has many rows: of a table that is read from its beginning they show, where its pages do not.
        expect(rows, what).toBeLessThan(AT_ONCE * 40);
        await tx.unsafe(`DEALLOCATE ${name}`);
      }
      throw UNDONE;
    })
    .catch((error: unknown) => {
      if (error !== UNDONE) throw error;
    });
}
const UNDONE = new Error("undone");

test("statements that were planned while the queue was empty read no more of a long one than they need", () =>
  expectFewPages(ofJobs, async (tx) => {
    await addJobs(tx, LONG);
    await addJobs(tx, AT_ONCE, { id: "'limited-' || i", run_id: "'limited-' || i", function_id: "'limited'" });
    await tx.unsafe(`INSERT INTO holdfast.runs
  (id, function_id, app_id, app_version, status, version, event_id, event_name, created_at)
SELECT DISTINCT run_id, 'fn', 'app', '1', 'PENDING', 1, 'e', 'e', now() FROM holdfast.queue`);
    const jobs = await tx.unsafe<{ id: string }[]>(`SELECT id FROM holdfast.queue ORDER BY id LIMIT ${AT_ONCE}`);
    return jobs.map(({ id }) => id);
  }));

/** One of two hundred is over. */
const OVER = `CASE WHEN i % 200 = 7 THEN interval '-2 days' ELSE interval '0' END`;

test("statements that were planned while tables were empty read no more of long ones than they need", () =>
  expectFewPages(ofRows, async (tx) => {
    const id = "'key-' || lpad(i::text, 8, '0')";
    const series = `FROM generate_series(1, ${LONG}) i`;
    await tx.unsafe(`INSERT INTO holdfast.event_keys (name, key, event_id, received_at)
  SELECT 'shop/paid', ${id}, 'none', now() + ${OVER} ${series}`);
    await tx.unsafe(`INSERT INTO holdfast.events (id, name, ts, received_at, run_ids, payload)
  SELECT ${id}, 'shop/paid', now(), now(), '', '{}' ${series}`);
    await tx.unsafe(`INSERT INTO holdfast.gates (function_id, kind, key, count, at, run_id, data, expires_at)
  SELECT 'fn', 'single', ${id}, 0, now(), ${id}, '', now() + interval '1 day' + ${OVER} ${series}`);
    return Array.from({ length: AT_ONCE }, (_, index) => `key-${String(index * 150 + 1).padStart(8, "0")}`);
  }));
