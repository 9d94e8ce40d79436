import type { Store } from "@holdfast/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type CuttingProxy, openCuttingProxy } from "./cutting-proxy.ts";
import { claimOne, logRow, newId, passJob, runDone, seedLeased, seedRun, stepDone, useStore } from "./harness.ts";
import { standing } from "./held-writes.ts";

const bench = useStore();
let proxy: CuttingProxy;
let store: Store;

beforeAll(async () => {
  proxy = await openCuttingProxy(bench.db.url);
  store = bench.another({ url: proxy.url });
});
afterAll(async () => {
  await store.close();
  await proxy.close();
});

const decide = (run: { runId: string; jobId: string }) =>
  store.commit({
    runId: run.runId,
    fence: { jobId: run.jobId, epoch: 1 },
    cas: 1,
    log: [logRow("STEP_PLANNED", "a"), logRow("DISPATCHED", "a")],
    head: { status: "RUNNING" },
    removeJobs: [run.jobId],
    addJobs: [passJob(run.runId, { kind: "step", key: "a" })],
  });

describe("A commit whose connection breaks", () => {
  it("RUNNER-4: a commit whose answer was lost is recognised, although it changed version and fence", async () => {
    const run = await seedLeased(store);
    proxy.cutAt("toClient", "COMMIT");
    expect(await decide(run)).toMatchObject({ won: true, version: 2, inserted: [true, true] });
    expect(proxy.cuts).toBe(1);
    const detail = await store.getRun(run.runId);
    expect(detail?.head.version).toBe(2);
    expect(detail?.jobs).toMatchObject([{ kind: "step", key: "a" }]);
    expect(detail?.log).toHaveLength(4);
  });

  it("a commit whose answer was lost reports which rows were new", async () => {
    const run = await seedLeased(store);
    await store.commit(stepDone(run, "old"));
    const cuts = proxy.cuts;
    proxy.cutAt("toClient", "COMMIT");
    const both = { ...stepDone(run, "x"), log: [logRow("STEP_COMPLETED", "old"), logRow("STEP_COMPLETED", "new")] };
    expect(await store.commit(both)).toMatchObject({ won: true, inserted: [false, true] });
    expect(proxy.cuts).toBe(cuts + 1);
  });

  it("RUNNER-4: a commit that never reached the server is repeated", async () => {
    const run = await seedLeased(store);
    const cuts = proxy.cuts;
    proxy.cutAt("toServer", "COMMIT");
    expect(await decide(run)).toMatchObject({ won: true, version: 2, inserted: [true, true] });
    expect(proxy.cuts).toBe(cuts + 1);
    expect((await store.getRun(run.runId))?.log).toHaveLength(4);
  });

  it("a commit whose connection broke before any write is repeated", async () => {
    const run = await seedLeased(store);
    const cuts = proxy.cuts;
    proxy.cutAt("toServer", "BEGIN", 2);
    expect(await decide(run)).toMatchObject({ won: true, version: 2 });
    expect(proxy.cuts).toBe(cuts + 2);
  });

  it.each([
    ["its answer was", "toClient", "SELECT 1"],
    ["it was", "toServer", "event-once-toServer"],
  ] as const)(
    "RUNNER-4: an event is stored once when %s lost: one statement is its transaction",
    async (_, way, text) => {
      const [cuts, { batches, statements }] = [proxy.cuts, store.stats()];
      proxy.cutAt(way, text);
      const functionId = `event-once-${way}`;
      const run = await seedRun(store, { run: { functionId } });
      expect(proxy.cuts).toBe(cuts + 1);
      expect((await store.listRuns({ functionId, limit: 10 })).runs.map((head) => head.id)).toEqual([run.runId]);
      const now = store.stats();
      expect(now.batches - batches).toBe(1);
      expect(now.statements - statements).toBe(way === "toClient" ? 1 : 2);
    },
  );

  it("a batch whose writer has lost its mark writes nothing before the mark is there again", async () => {
    const run = await seedLeased(store);
    for (const act of [() => decide(run), () => seedRun(store)]) {
      await bench.db.sql`DELETE FROM holdfast.writers`;
      await act();
      expect((await bench.db.sql`SELECT batch FROM holdfast.writers`).map(({ batch }) => Number(batch) > 0)).toEqual([
        true,
      ]);
    }
  });
});

describe("A transaction whose connection breaks", () => {
  it("a registration whose session is ended while it waits is carried out again", async () => {
    const id = `app-${newId()}`;
    const functions = [{ slug: `${id}-a`, name: "a", triggersJson: "[]", configJson: "{}" }];
    let saved: Promise<unknown> = Promise.resolve();
    await bench.db.sql.begin(async (tx) => {
      await tx`SELECT pg_advisory_xact_lock(hashtextextended('holdfast registry', 0))`;
      saved = bench.store.saveApps([{ id, version: "1", sdk: "test", functions }]);
      await standing(bench.db.sql, 1);
      const ended = await tx`SELECT pg_terminate_backend(pid) FROM pg_locks
        WHERE NOT granted AND locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      expect(ended).toHaveLength(1);
    });
    expect(await saved).toMatchObject([{ slug: `${id}-a`, appId: id }]);
    // Connections that come back are good for other work.
    await Promise.all(Array.from({ length: 10 }, () => bench.store.registryVersion()));
  });
});

describe("A claim whose connection breaks", () => {
  it("a claim whose answer was lost still hands out its jobs, so that no job waits for an untracked lease", async () => {
    const run = await seedRun(store, { run: { functionId: "claimed" } });
    const cuts = proxy.cuts;
    proxy.cutAt("toClient", run.jobId);
    const job = await claimOne(store, "claimed");
    expect(proxy.cuts).toBe(cuts + 1);
    expect(job).toMatchObject({ id: run.jobId, epoch: 1, lost: false });
  });
});

describe("A server that ends sessions repeatedly", () => {
  it("a server that ends sessions repeatedly loses and duplicates no write", async () => {
    const runs = await Promise.all(Array.from({ length: 40 }, () => seedLeased(store)));
    let kills = 0;
    const killer = (async () => {
      for (; kills < 10; kills += 1) {
        await bench.db.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name LIKE 'holdfast-gateway%' AND pid <> pg_backend_pid()`;
        await bench.db.sql`SELECT pg_sleep(0.1)`;
      }
    })();
    const before = store.stats().batchRetries;
    const work = runs.map(async (run, index) => {
      for (let step = 0; kills < 10; step += 1) {
        expect(await store.commit(stepDone(run, `s${step}`))).toMatchObject({ won: true, inserted: [true] });
      }
      expect(
        await store.extendLeases([{ jobId: run.jobId, epoch: 1, gatewayId: "gw-a", leaseMs: 60_000 + index }]),
      ).toEqual([true]);
      expect(await store.commit(runDone(run))).toMatchObject({ won: true, version: 2, inserted: [true] });
    });
    await Promise.all([...work, killer]);
    expect(store.stats().batchRetries).toBeGreaterThan(before);
  });
});

describe("A server that stays unavailable", () => {
  it("writes sent while the server is away are stored once it is back", async () => {
    const run = await seedLeased(store);
    proxy.down(true);
    const written = store.commit(stepDone(run, "meanwhile"));
    const read = store.loadRuns([run.runId]);
    proxy.down(false);
    expect(await written).toMatchObject({ won: true, inserted: [true] });
    expect(await read).toHaveLength(1);
  });

  it("RUNNER-6: a write is abandoned after retryForMs, with an error code and without showing the password", async () => {
    const url = new URL(proxy.url);
    url.password = "s3cret";
    url.port = "1";
    const impatient = bench.another({ url: url.href, retryForMs: 50 });
    const run = await seedLeased(store);
    const failed = await impatient.commit(stepDone(run, "never")).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "STORE_FAILED" });
    expect(String(failed)).toContain("Nothing was stored");
    expect(String(failed)).not.toContain("s3cret");
    await expect(impatient.ping()).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(await store.commit(stepDone(run, "never"))).toMatchObject({ won: true, inserted: [true] });
  });
});
