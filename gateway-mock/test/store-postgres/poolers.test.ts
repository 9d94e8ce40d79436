import { silentLog, systemClock, systemRandom, systemTimers } from "@holdfast/core";
import type { Wake } from "@holdfast/store";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { describe, expect, onTestFinished, test } from "vitest";
import { databaseChecks } from "../../src/cli/doctor/database-checks.ts";
import { openDatabase } from "../../src/store-postgres/connection/database.ts";
import { readSettingsBy } from "../../src/store-postgres/connection/session-settings.ts";
import { openPostgresStore, readSchemaState, readServerFacts } from "../../src/store-postgres/index.ts";
import { claimOne, createTestDatabase, runDone, seedRun, stepDone } from "./harness.ts";
import { findPgBouncer, startPgBouncer } from "./pgbouncer.ts";
import { openSmallPooler } from "./small-pooler.ts";

const bouncer = findPgBouncer();
if (bouncer === null)
  console.log("Skipped: no PgBouncer on this machine (apt-get install pgbouncer, or HOLDFAST_TEST_PGBOUNCER).");

interface Pooler {
  readonly url: string;
  close(): Promise<void>;
}

const POOLERS: readonly {
  name: string;
  isThere: boolean;
  open(url: string, mode: "session" | "transaction"): Promise<Pooler>;
}[] = [
  {
    name: "a small one that refuses what PgBouncer refuses",
    isThere: true,
    open: (url, mode) => openSmallPooler(url, mode === "session" ? "session" : "transactions"),
  },
  { name: "PgBouncer", isThere: bouncer !== null, open: (url, mode) => startPgBouncer(bouncer ?? "", url, mode) },
];

describe.each(POOLERS)("Behind a pooler: $name", ({ isThere, open }) => {
  const behind = async (mode: "session" | "transaction"): Promise<{ url: string; direct: string }> => {
    const db = await createTestDatabase();
    onTestFinished(() => db.drop());
    const pooler = await open(db.url, mode);
    onTestFinished(() => pooler.close());
    return { url: pooler.url, direct: db.url };
  };

  test.skipIf(!isThere)(
    "in session mode a store works, wake-ups included, and doctor has nothing to refuse",
    async () => {
      const { url } = await behind("session");
      expect(await readSettingsBy(url)).toBe("statements");
      expect((await readSchemaState(url)).version).toBe(0);
      const [one, two] = [openPostgresStore({ url, maxConnections: 4 }), openPostgresStore({ url, maxConnections: 4 })];
      onTestFinished(async () => void (await Promise.all([one.close(), two.close()])));
      await one.migrate();
      await two.migrate();
      const heard: Wake[] = [];
      two.onWake((wake) => heard.push(wake));
      await waitFor(() => heard.length > 0, { what: "the second store to listen" });
      const run = await seedRun(one);
      await waitFor(() => heard.some(({ type }) => type === "JOBS_DUE"), {
        what: "the second store to hear of the job",
      });
      expect(await claimOne(two, "shop-order")).toMatchObject({ id: run.jobId, epoch: 1 });
      expect(await one.commit(stepDone(run, "a"))).toMatchObject({ won: true });
      expect(await one.commit(runDone(run))).toMatchObject({ won: true });
      const checks = databaseChecks(await readServerFacts(url), 10);
      // The server of the tests does not wait for its disk.
      expect(checks.filter(({ status, name }) => status === "fail" && name !== "durability")).toEqual([]);
      expect(checks).toContainEqual(expect.objectContaining({ name: "pooler", status: "warn" }));
    },
  );

  test.skipIf(!isThere)(
    "in session mode every session has its settings, also after its connection has ended",
    async () => {
      const { url, direct } = await behind("session");
      const database = openDatabase({
        ...{ url, maxConnections: 5, retryForMs: 20_000 },
        ...{ timers: systemTimers, random: systemRandom, log: silentLog, monotonicMs: () => systemClock.monotonicMs() },
      });
      onTestFinished(() => database.close());
      database.sessions.setSettingsBy("statements");
      const settings = (): Promise<object[]> =>
        Promise.all(
          Array.from({ length: 6 }, async () => {
            const [row] = await database.query(
              "SELECT current_setting('enable_seqscan') || ' ' || current_setting('jit') || ' ' || current_setting('TimeZone') AS shown",
            );
            return row ?? {};
          }),
        );
      const all = Array.from({ length: 6 }, () => ({ shown: "off off UTC" }));
      expect(await settings()).toEqual(all);
      const sql = postgres(direct, { max: 1 });
      onTestFinished(() => sql.end());
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
      // What had been asked before the end was noticed may be the first on the new connection.
      await settings();
      expect(await settings()).toEqual(all);
    },
  );

  test.skipIf(!isThere)(
    "in transaction mode a gateway refuses to start, and doctor refuses in the same words",
    async () => {
      const { url } = await behind("transaction");
      const store = openPostgresStore({ url, maxConnections: 4 });
      onTestFinished(() => store.close());
      await expect(store.migrate()).rejects.toMatchObject({ code: "DATABASE_POOLED" });
      const checks = databaseChecks(await readServerFacts(url), 10);
      expect(checks).toContainEqual(
        expect.objectContaining({
          name: "pooler",
          status: "fail",
          fix: expect.stringContaining("pool_mode = session"),
        }),
      );
    },
  );
});
