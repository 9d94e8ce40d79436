import { foldHead } from "@holdfast/store";
import { describe, expect, it } from "vitest";
import { checkInvariants } from "../../src/store-postgres/index.ts";
import { claimOne, logRow, newId, passJob, runDone, seedLeased, seedRun, useStore } from "./harness.ts";

const bench = useStore();

const end = (run: { runId: string }, status: "FAILED" | "CANCELLED") =>
  bench.store.commit({
    runId: run.runId,
    fence: null,
    cas: "live",
    log: [logRow(`RUN_${status}`, "", { dataJson: '{"error":{"name":"Error","message":"broken"}}' })],
    head: { status, errorJson: '{"name":"Error","message":"broken"}' },
    removeJobs: "all",
    addJobs: [],
  });

describe("Runs", () => {
  it("runs are listed by status, newest first, page by page", async () => {
    const make = (count: number, job = {}) =>
      Promise.all(Array.from({ length: count }, () => seedRun(bench.store, { run: { functionId: "listed" }, job })));
    const pending = await make(2, { delayMs: 3_600_000 });
    const leased = await make(3, { lease: { gatewayId: "g", leaseMs: 60_000 } });
    const failed = await make(2);
    const cancelled = await make(1);
    const waiting = await make(1);
    for (const run of failed) await end(run, "FAILED");
    for (const run of cancelled) await end(run, "CANCELLED");
    await bench.store.commit(runDone(leased[0]!));
    await bench.store.commit({
      runId: waiting[0]!.runId,
      fence: null,
      cas: 1,
      log: [logRow("STEP_WAITING", "s")],
      head: { status: "WAITING" },
      removeJobs: "all",
      addJobs: [passJob(waiting[0]!.runId, { kind: "timer", key: "s", functionId: "", delayMs: 3_600_000 })],
    });
    const of = async (status?: "PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED") => {
      const ids: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await bench.store.listRuns({
          functionId: "listed",
          limit: 1,
          ...(status ? { status } : {}),
          ...(cursor ? { cursor } : {}),
        });
        if (status) expect(page.runs.every((head) => head.status === status)).toBe(true);
        ids.push(...page.runs.map((head) => head.id));
        cursor = page.nextCursor ?? undefined;
      } while (cursor);
      return ids;
    };
    const newestFirst = (runs: readonly { runId: string }[]) =>
      runs
        .map((run) => run.runId)
        .sort()
        .reverse();
    expect(await of("PENDING")).toEqual(newestFirst(pending));
    expect(await of("RUNNING")).toEqual(newestFirst(leased.slice(1)));
    expect(await of("COMPLETED")).toEqual([leased[0]?.runId]);
    expect(await of("FAILED")).toEqual(newestFirst(failed));
    expect(await of("CANCELLED")).toEqual(newestFirst(cancelled));
    expect(await of("WAITING")).toEqual(newestFirst(waiting));
    expect(await of()).toEqual(newestFirst([...pending, ...leased, ...failed, ...cancelled, ...waiting]));
  });

  it("a run is shown with its jobs and log", async () => {
    const run = await seedLeased(bench.store, "shown");
    const detail = await bench.store.getRun(run.runId);
    expect(detail?.jobs).toMatchObject([{ id: run.jobId, kind: "pass", epoch: 1, leasedBy: "gateway-a" }]);
    expect(detail?.head.startedMs).toBe(detail?.head.createdMs);
    expect(await bench.store.getRun(newId())).toBeNull();
    const depth = await bench.store.queueDepth();
    expect(depth.leased).toBeGreaterThan(0);
    await bench.store.ping();
  });

  it("a run counts as started when its first job was claimed", async () => {
    const run = await seedRun(bench.store, { run: { functionId: "begun" } });
    const job = await claimOne(bench.store, "begun");
    await bench.store.commit(runDone(run));
    const detail = await bench.store.getRun(run.runId);
    expect(detail?.head.startedMs).toBe((job?.leaseUntilMs ?? 0) - 60_000);
    expect(detail?.head.endedMs).toBeGreaterThanOrEqual(detail?.head.startedMs ?? Number.NaN);
  });
});

describe("The registry", () => {
  it("the registry keeps a function's uuid and uses the newest configuration", async () => {
    const app = (version: string) => ({
      id: "shop",
      version,
      sdk: "holdfast 0.1.0",
      functions: ["shop-a", "shop-b"].map((slug) => ({
        slug,
        name: slug,
        triggersJson: "[]",
        configJson: `{"v":"${version}"}`,
      })),
    });
    const first = await bench.store.saveApps([app("1")]);
    expect(first).toHaveLength(2);
    const second = await bench.another().saveApps([app("2")]);
    expect(second.map((fn) => fn.uuid)).toEqual(first.map((fn) => fn.uuid));
    const all = (await bench.store.loadRegistry()).functions;
    expect(all).toEqual(second);
    expect(all[0]).toMatchObject({ slug: "shop-a", appId: "shop", appVersion: "2", configJson: '{"v":"2"}' });
    expect(all[0]?.uuid).toMatch(/^[0-9a-f-]{36}$/);
    expect(await bench.store.saveApps([])).toEqual([]);
  });

  it("the newest deployment defines the app, and a reconnecting older one changes nothing while it is there", async () => {
    const app = (version: string, names: readonly string[]) => ({
      id: "roll",
      version,
      sdk: "holdfast 0.1.0",
      functions: names.map((name) => ({ slug: `roll-${name}`, name, triggersJson: "[]", configJson: `"${version}"` })),
    });
    const state = async () =>
      (await bench.store.loadRegistry()).functions
        .filter(({ appId }) => appId === "roll")
        .map(({ slug, configJson, active }) => `${slug} ${configJson} ${active ? "active" : "gone"}`);
    const [one, two] = [app("1", ["a", "b"]), app("2", ["b", "c"])];
    await bench.store.saveApps([one]);
    expect(await state()).toEqual(['roll-a "1" active', 'roll-b "1" active']);
    const rolled = ['roll-a "1" gone', 'roll-b "2" active', 'roll-c "2" active'];
    await bench.store.saveApps([two]);
    expect(await state()).toEqual(rolled);
    await bench.another().saveApps([one]);
    expect(await state()).toEqual(rolled);
    // Rolled back: nothing was heard of the newer one for a while.
    await bench.db.sql`UPDATE holdfast.app_groups SET seen_at = now() - interval '2 minutes' WHERE app_id = 'roll'`;
    await bench.store.saveApps([one]);
    expect(await state()).toEqual(['roll-a "1" active', 'roll-b "1" active', 'roll-c "2" gone']);
  });

  it("the registry lists connections until they are gone or stale", async () => {
    const connection = (id: string, gatewayId: string) => ({
      id,
      gatewayId,
      instanceId: "i",
      appIds: ["shop"],
      versions: ["shop@1"],
      status: "READY",
      connectedMs: 1_700_000_000_000,
    });
    const ids = async () => (await bench.store.listConnections()).map((entry) => entry.id).sort();
    for (const [id, gateway] of [
      ["c1", "g1"],
      ["c2", "g1"],
      ["c3", "g2"],
    ] as const) {
      await bench.store.saveConnection(connection(id, gateway));
    }
    await bench.store.saveConnection({ ...connection("c1", "g1"), status: "DRAINING" });
    expect(await bench.store.listConnections()).toContainEqual({
      ...connection("c1", "g1"),
      status: "DRAINING",
      silentMs: 0,
    });
    await bench.store.touchGateway("g1");
    await bench.db.sql`UPDATE holdfast.gateways SET seen_at = seen_at - interval '20 seconds'`;
    const silent = (await bench.store.listConnections()).map(({ gatewayId, silentMs }) => [
      gatewayId,
      silentMs >= 20_000,
    ]);
    expect(Object.fromEntries(silent)).toEqual({ g1: true, g2: false });
    await bench.store.touchGateway("g1");
    expect((await bench.store.listConnections()).every(({ silentMs }) => silentMs < 20_000)).toBe(true);
    await bench.store.removeConnections(["c2"]);
    expect(await ids()).toEqual(["c1", "c3"]);
    await bench.db.sql`UPDATE holdfast.connections SET seen_at = seen_at - interval '1 hour'`;
    await bench.store.touchConnections("g1", 60_000);
    expect(await ids()).toEqual(["c1"]);
  });

  it("expired event keys and store markers are removed", async () => {
    const { sql } = bench.db;
    const keys = async () => (await sql`SELECT key FROM holdfast.event_keys ORDER BY key`).map((row) => row.key);
    const event = (key: string) => ({
      event: { id: newId(), name: "e", idempotencyKey: key, tsMs: 1, payloadJson: "{}" },
      runs: [],
    });
    await bench.store.intake([event("new"), event("old")]);
    await sql`UPDATE holdfast.event_keys SET received_at = received_at - interval '25 hours' WHERE key = 'old'`;
    await sql`INSERT INTO holdfast.writers VALUES ('gone', 1, '1', now() - interval '8 days')`;
    await bench.store.touchConnections("g1", 60_000);
    expect(await keys()).toEqual(["new"]);
    expect(await sql`SELECT id FROM holdfast.writers WHERE id = 'gone'`).toEqual([]);
    expect(await bench.store.intake([event("new")])).toMatchObject([{ duplicate: true }]);
  });
});

describe("The consistency checker", () => {
  it("STORED-1, STORED-2: the checker finds a head that its log does not explain, and a run that nothing continues", async () => {
    const changed = await seedLeased(bench.store);
    const forgotten = await seedLeased(bench.store);
    const haunted = await seedLeased(bench.store);
    await bench.store.commit(runDone(haunted));
    const { sql } = bench.db;
    await sql`UPDATE holdfast.runs SET status = 'WAITING', version = 5 WHERE id = ${changed.runId}`;
    const [job] = await sql`DELETE FROM holdfast.queue WHERE run_id = ${forgotten.runId} RETURNING *`;
    await sql`UPDATE holdfast.runs SET output = '"other"' WHERE id = ${haunted.runId}`;
    const { broken } = await checkInvariants(bench.store);
    const about = (run: { runId: string }) => broken.filter((line) => line.includes(run.runId)).join("; ");
    expect(about(changed)).toMatch(/status is WAITING, its log says RUNNING; .*version is 5, its log says 1/);
    expect(about(forgotten)).toMatch(/no job/);
    expect(about(haunted)).toMatch(/output/);
    await sql`UPDATE holdfast.runs SET status = 'RUNNING', version = 1 WHERE id = ${changed.runId}`;
    await sql`INSERT INTO holdfast.queue ${sql(job as Record<string, never>)}`;
    await sql`UPDATE holdfast.runs SET output = '"done"' WHERE id = ${haunted.runId}`;
    expect((await checkInvariants(bench.store)).broken).toEqual([]);
  });

  it("the checker rejects a log that contradicts itself", async () => {
    const row = (
      kind: "RUN_CREATED" | "STEP_WAITING" | "RUN_COMPLETED",
      headVersion: number,
      headStatus: "PENDING" | "COMPLETED",
    ) => ({ ...logRow(kind), seq: headVersion, atMs: 1, headVersion, headStatus }) as const;
    const created = row("RUN_CREATED", 1, "PENDING");
    expect(foldHead([created])).toMatchObject({ status: "PENDING", version: 1 });
    expect(() => foldHead([])).toThrow(/RUN_CREATED/);
    expect(() => foldHead([created, row("STEP_WAITING", 3, "PENDING")])).toThrow(/version 2/);
    expect(() => foldHead([created, row("STEP_WAITING", 2, "COMPLETED")])).toThrow(/without a matching log row/);
    expect(() => foldHead([created, row("RUN_COMPLETED", 2, "PENDING")])).toThrow(/RUN_COMPLETED/);
    expect(() =>
      foldHead([created, row("RUN_COMPLETED", 2, "COMPLETED"), row("RUN_COMPLETED", 3, "COMPLETED")]),
    ).toThrow(/2 times/);
  });
});
