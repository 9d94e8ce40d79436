/** A database as a gateway left it that had schema 12, with a run in every state: it is migrated, and all runs go on. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { checkInvariants } from "@holdfast/store";
import { createDatabase, type TestDatabase } from "@holdfast/testing";
import postgres from "postgres";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { type Gateway, REAL_PORTS, startGatewayOn } from "../../src/server.ts";
import { migrate, readMigrations } from "../../src/store-postgres/connection/migrate.ts";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { did, ended, op, type RunDetailView, runDetail, send } from "./harness.ts";
import { RawWorker } from "./raw-worker.ts";

type Name =
  | "completed"
  | "failed"
  | "cancelled"
  | "sleeping"
  | "waiting"
  | "undoing"
  | "deferring"
  | "retrying"
  | "running";

interface Left {
  /** When it was left. */
  readonly at: string;
  readonly runs: Readonly<Record<Name, string>>;
  readonly tables: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
}

const left = JSON.parse(
  readFileSync(new URL("../store-postgres/fixtures/schema-012.json", import.meta.url), "utf8"),
) as Left;

const sha1 = (id: string): string => createHash("sha1").update(id).digest("hex");
const FAILURE = sha1("holdfast/failure");
const functions = [
  ...["completed", "failed", "cancelled", "sleeping", "waiting", "undoing", "running", "lost"].map((id) => {
    return { id, event: `shop/${id}`, retries: 0 };
  }),
  { id: "deferring", event: "shop/deferring" },
  { id: "retrying", event: "shop/retrying", retries: 3 },
  {
    id: "later",
    event: "",
    config: {
      triggers: [{ event: "inngest/deferred.schedule", expression: "event.data._inngest.fn_slug == 'shop-later'" }],
    },
  },
];

let db: TestDatabase;
let sql: postgres.Sql;
beforeEach(async () => {
  db = await createDatabase(inject("postgresUrl"));
  sql = postgres(db.url, { max: 2, onnotice: () => {} });
  await migrate(db.url, { migrations: readMigrations().filter(({ version }) => version <= 12) });
  const passedMs = Date.now() - Date.parse(left.at);
  for (const [table, rows] of Object.entries(left.tables)) {
    await sql.unsafe(
      `INSERT INTO holdfast.${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::holdfast.${table}, $1::text::json)`,
      [JSON.stringify(rows.map((row) => laterBy(row, passedMs)))],
    );
  }
  // That gateway has been gone for longer than its leases last.
  await sql`UPDATE holdfast.queue SET available_at = now() WHERE leased_by IS NOT NULL`;
});
afterEach(async () => {
  await sql.end();
  await db.drop();
});

/** As if it had been left just now. */
function laterBy(row: Readonly<Record<string, unknown>>, ms: number): object {
  const moved = Object.entries(row).map(([name, value]) => {
    const isTime = typeof value === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+\+00:00$/.test(value);
    return [name, isTime ? new Date(Date.parse(value) + ms).toISOString() : value];
  });
  return Object.fromEntries(moved) as object;
}

const kinds = ({ log }: RunDetailView): string[] => log.map(({ kind }) => kind);

test("what the log had is there fact by fact, in its order and unchanged", async () => {
  await migrate(db.url);
  const store = openPostgresStore({ url: db.url, maxConnections: 3 });
  const stored = await store.loadRuns(Object.values(left.runs));
  expect(stored).toHaveLength(Object.keys(left.runs).length);
  for (const { head, log } of stored) {
    const before = (left.tables.run_log ?? []).filter((row) => row.run_id === head.id);
    expect(
      log.map(({ kind, key, attempt, iteration, dataJson, headVersion, headStatus }) => {
        return { kind, key, attempt, iteration, data: dataJson, version: headVersion, status: headStatus };
      }),
    ).toEqual(
      before.map(({ kind, key, attempt, iteration, data, version, status }) => {
        return { kind, key, attempt, iteration, data, version, status };
      }),
    );
  }
  expect((await checkInvariants(store)).broken).toEqual([]);
  const [last] =
    await sql`SELECT max(seq)::float8 AS seq, nextval('holdfast.run_log_seq')::float8 AS next FROM holdfast.run_log`;
  expect(last?.next).toBeGreaterThan(last?.seq);
  await store.close();
});

test("keys that a line cannot hold as they are are migrated as the gateway writes them", async () => {
  const key = 'a\\b\nc "d" \\n';
  await sql`UPDATE holdfast.run_log SET key = ${key} WHERE run_id = ${left.runs.completed} AND kind = 'STEP_COMPLETED'`;
  await migrate(db.url);
  const store = openPostgresStore({ url: db.url, maxConnections: 3 });
  const [stored] = await store.loadRuns([left.runs.completed]);
  expect(stored?.log.map((fact) => fact.key)).toContain(key);
  const shown =
    await sql`SELECT key FROM holdfast.run_facts WHERE run_id = ${left.runs.completed} AND kind = 'STEP_COMPLETED'`;
  expect(shown.map((row) => row.key)).toEqual([key]);
  await store.close();
});

test("runs in every state go on after the migration, and none of their steps is stored twice", async () => {
  const gateway: Gateway = await startGatewayOn(REAL_PORTS, { port: 0, databaseUrl: db.url, maxConnections: 5 });
  const worker = await RawWorker.connect({ url: gateway.url, functions });
  try {
    const { runs } = left;
    const open = new Set<string>([
      runs.sleeping,
      runs.waiting,
      runs.undoing,
      runs.deferring,
      runs.retrying,
      runs.running,
    ]);
    await send(gateway, "shop/paid", { n: 7 });
    const steps = new Map<string, readonly string[]>();
    const deferred: unknown[] = [];
    let undone = false;
    while (open.size > 0 || deferred.length === 0) {
      const { request, payload } = await worker.request();
      if (!steps.has(request.runId)) steps.set(request.runId, Object.keys(payload.steps));
      if (request.runId !== runs.undoing || undone) open.delete(request.runId);
      if (!Object.values(runs).includes(request.runId)) {
        deferred.push(payload.event.data.what);
        await worker.replied(request, { status: "DONE", value: null });
      } else if (undone && request.runId === runs.undoing) {
        await worker.replied(request, { status: "DONE", noRetry: true, value: { name: "Bad", message: "no" } });
      } else if (request.runId === runs.undoing) {
        await worker.replied(request, { value: [op("StepRun", sha1("holdfast/compensate:a"), { data: null })] });
        undone = true;
      } else {
        // The step that was stored before is reported again, as by a worker that missed the acknowledgement.
        worker.checkpoint(request, 1, [did("one", "again"), did("last")]);
        await worker.frame("GATEWAY_CHECKPOINT_ACK");
        await worker.replied(request, { status: "DONE", value: "over" });
      }
    }
    expect(deferred).toEqual(["first"]);
    for (const [name, status] of Object.entries({ undoing: "FAILED", failed: "FAILED", cancelled: "CANCELLED" })) {
      expect(await ended(gateway, runs[name as Name])).toMatchObject({ status });
    }
    for (const name of ["completed", "sleeping", "waiting", "deferring", "retrying", "running"] as const) {
      const run = await ended(gateway, runs[name]);
      expect(run).toMatchObject({ status: "COMPLETED", output: name === "completed" ? { all: "done" } : "over" });
      expect(run.log.filter(({ kind, key }) => kind === "STEP_COMPLETED" && key === "one")).toHaveLength(1);
      if (name !== "completed") expect(steps.get(runs[name])).toContain("one");
    }
    expect(steps.get(runs.sleeping)).toEqual(["one", "nap"]);
    expect(steps.get(runs.waiting)).toEqual(["one", "wait"]);
    expect(steps.get(runs.undoing)).toEqual(["a", "b", FAILURE, sha1("holdfast/compensate:b")]);
    // The work of a gateway that is no more is lost with its lease, and done again.
    expect(kinds(await runDetail(gateway, runs.running))).toContain("LEASE_LOST");
    const store = openPostgresStore({ url: db.url, maxConnections: 3 });
    expect((await checkInvariants(store)).broken).toEqual([]);
    await store.close();
  } finally {
    worker.cut();
    await gateway.close();
  }
});
