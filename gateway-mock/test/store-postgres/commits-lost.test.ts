import { checkInvariants, type HistoryLoss, type LogRow, type Store } from "@holdfast/store";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { expect, onTestFinished, test } from "vitest";
import { openPostgresStore, type PostgresStoreOptions } from "../../src/store-postgres/index.ts";
import { keepEarlier } from "./going-back.ts";
import {
  claimOne,
  createTestDatabase,
  logRow,
  newId,
  passJob,
  runDone,
  type SeededRun,
  seedLeased,
  seedRun,
  stepDone,
} from "./harness.ts";

interface Logged {
  readonly level: string;
  readonly message: string;
  readonly data: unknown;
}

interface World {
  readonly url: string;
  readonly logged: Logged[];
  readonly losses: HistoryLoss[];
  open(options?: Partial<PostgresStoreOptions>): Store;
  /** Of COMMITS_LOST, in order. */
  named(): readonly Logged[];
}

async function openWorld(): Promise<World> {
  const db = await createTestDatabase();
  const stores: Store[] = [];
  const logged: Logged[] = [];
  const losses: HistoryLoss[] = [];
  // Our own look at it would keep it from being copied.
  await db.sql.end();
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await db.drop();
  });
  const world: World = {
    url: db.url,
    logged,
    losses,
    open(options = {}) {
      const log = (level: string, message: string, data?: unknown): void => void logged.push({ level, message, data });
      const store = openPostgresStore({ url: db.url, maxConnections: 4, log, ...options });
      store.onLoss((loss) => losses.push(loss));
      stores.push(store);
      return store;
    },
    named: () => logged.filter(({ message }) => message.startsWith("COMMITS_LOST")),
  };
  await world.open().migrate();
  return world;
}

/** All that is stored of runs, as far as it does not depend on when it was written. */
async function contents(store: Store, runs: readonly SeededRun[]): Promise<unknown> {
  const stored = await store.loadRuns(runs.map(({ runId }) => runId));
  const shown = stored.map(({ head, log }) => ({
    id: head.id,
    status: head.status,
    version: head.version,
    outputJson: head.outputJson,
    log: log
      .filter(({ kind }) => kind !== "COMMITS_LOST")
      .map(({ kind, key, attempt, iteration, dataJson }) => [kind, key, attempt, iteration, dataJson]),
  }));
  const jobs = await Promise.all(runs.map(({ runId }) => store.getRun(runId)));
  return {
    runs: shown.sort((a, b) => (a.id < b.id ? -1 : 1)),
    jobs: jobs.map((run) => run?.jobs.map(({ id, kind, epoch, leasedBy }) => [id, kind, epoch, leasedBy])),
  };
}

const factsOf = async (store: Store, runId: string, kind: LogRow["kind"]): Promise<readonly LogRow[]> =>
  (await store.loadRuns([runId])).flatMap(({ log }) => log.filter((row) => row.kind === kind));

test("RUNNER-7, HISTORY-1, HISTORY-2: what a database has forgotten is named and sent again: runs, results, ends, claims", async () => {
  const world = await openWorld();
  const store = world.open();
  const before = [await seedLeased(store), await seedLeased(store)];
  const waiting = await seedRun(store);
  const earlier = await keepEarlier(world.url);
  // All of it is gone later: results, an end, a claim and what was done under it, new runs.
  const [first, second] = before as [SeededRun, SeededRun];
  expect(await store.commit(stepDone(first, "a"))).toMatchObject({ won: true });
  expect(await store.commit(stepDone(first, "b"))).toMatchObject({ won: true });
  expect(await store.commit(stepDone(second, "a"))).toMatchObject({ won: true });
  expect(await store.commit(runDone(second))).toMatchObject({ won: true });
  const claimed = await claimOne(store, "shop-order");
  expect(claimed).toMatchObject({ id: waiting.jobId, epoch: 1 });
  expect(await store.commit(stepDone(waiting, "a"))).toMatchObject({ won: true });
  const after = await seedLeased(store);
  expect(await store.commit(stepDone(after, "a"))).toMatchObject({ won: true });
  const all = [...before, waiting, after];
  const expected = await contents(store, all);
  expect(world.named()).toEqual([]);

  await earlier.goBack();
  // The first who comes finds everything as it was.
  expect(
    await store.extendLeases([{ jobId: waiting.jobId, epoch: 1, gatewayId: "gateway-a", leaseMs: 60_000 }]),
  ).toEqual([true]);
  expect(await contents(store, all)).toEqual(expected);
  expect(store.stats()).toMatchObject({ lostBatches: 7, lostWrites: 7, restoredWrites: 7, incompleteRuns: 0 });
  expect(world.named().map(({ level, data }) => [level, data])).toEqual([
    ["error", expect.objectContaining({ lostBatches: 7, writes: 7, notInMemory: 0 })],
    ["warn", expect.objectContaining({ restored: 7, runs: 4, incompleteRuns: 0 })],
  ]);
  expect(store.health().commitsLost).toMatchObject({
    batches: 7,
    writes: 7,
    restored: 7,
    runs: 4,
    incomplete: [],
    isOver: true,
  });
  // Each run says it, with how much.
  const notes = await Promise.all(
    all.map(async ({ runId }) => (await factsOf(store, runId, "COMMITS_LOST")).map(({ dataJson }) => dataJson)),
  );
  const note = (writes: number): string => JSON.stringify({ writes, restored: writes });
  expect(notes).toEqual([[note(2)], [note(2)], [note(1)], [note(2)]]);
  // What is done next is done on it: the same result once more changes nothing.
  expect(await store.commit(stepDone(first, "a"))).toMatchObject({ won: true, inserted: [false] });
  expect((await checkInvariants(store)).broken).toEqual([]);
  expect(world.losses).toHaveLength(1);
});

test("HISTORY-2: a job is not claimed on a database that went back before the results of it are there again", async () => {
  const world = await openWorld();
  const store = world.open();
  const run = await seedRun(store);
  const earlier = await keepEarlier(world.url);
  // The writer comes later than any claim, and later than claims wait after an outage.
  const copy = postgres(earlier.url, { max: 1, onnotice: () => {} });
  await copy.unsafe(`CREATE FUNCTION holdfast.slow() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(6); RETURN NEW; END'`);
  await copy.unsafe(
    "CREATE TRIGGER slow BEFORE INSERT ON holdfast.writers FOR EACH ROW EXECUTE FUNCTION holdfast.slow()",
  );
  await copy.end();
  const [job] = [await claimOne(store, "shop-order", 200)];
  expect(job?.epoch).toBe(1);
  expect(await store.commit(stepDone(run, "a"))).toMatchObject({ won: true });
  await earlier.goBack();
  const again = await claimOne(store, "shop-order");
  // Of a lease that has ended: under the next epoch, with the result in its log.
  expect(again).toMatchObject({ id: run.jobId, epoch: 2 });
  expect(again?.run?.log.map(({ kind, key }) => [kind, key])).toContainEqual(["STEP_COMPLETED", "a"]);
});

test("RESEND-2: decisions of two gateways on one run, in turns, are restored by both", async () => {
  const world = await openWorld();
  const [one, two] = [world.open(), world.open()];
  const run = await seedRun(one);
  const earlier = await keepEarlier(world.url);
  for (let version = 1; version <= 6; version += 1) {
    const store = version % 2 === 1 ? one : two;
    const outcome = await store.commit({
      runId: run.runId,
      fence: null,
      cas: version,
      log: [logRow("STEP_COMPLETED", `step ${version}`)],
      head: { status: "RUNNING" },
      removeJobs: [],
      addJobs: [],
    });
    expect(outcome).toMatchObject({ won: true, version: version + 1 });
  }
  const expected = await contents(one, [run]);
  await earlier.goBack();
  // Neither has anything else to do: each looks by itself.
  await waitFor(() => world.losses.length === 2, { what: "both gateways to have sent what they had" });
  expect(await contents(one, [run])).toEqual(expected);
  expect(one.stats().restoredWrites + two.stats().restoredWrites).toBe(6);
  expect([one.stats().incompleteRuns, two.stats().incompleteRuns]).toEqual([0, 0]);
});

test("ACKNOWLEDGED-3, RUNNER-8: what is not in memory is named with its run, and decisions made on it are made anew", async () => {
  const world = await openWorld();
  const store = world.open({ resendMemoryBytes: 0 });
  const run = await seedLeased(store);
  const earlier = await keepEarlier(world.url);
  expect(await store.commit(stepDone(run, "a"))).toMatchObject({ won: true });
  const decided = {
    ...runDone(run),
    fence: null,
    log: [logRow("PASS_FAILED")],
    head: { status: "RUNNING" as const },
    removeJobs: [],
  };
  expect(await store.commit({ ...decided, cas: 1 })).toMatchObject({ won: true, version: 2 });
  const gone = await seedLeased(store);
  await earlier.goBack();
  // It rests on what is gone, and was decided before anyone could see that.
  expect(await store.commit({ ...decided, log: [logRow("PASS_FAILED", "", { attempt: 1 })], cas: 2 })).toMatchObject({
    won: false,
    why: "version",
  });
  expect(store.stats()).toMatchObject({ lostBatches: 3, lostWrites: 3, restoredWrites: 0, incompleteRuns: 2 });
  expect(world.named().at(-1)).toMatchObject({
    level: "error",
    data: { incompleteRuns: 2, runIds: expect.arrayContaining([run.runId, gone.runId]) },
  });
  expect(await factsOf(store, run.runId, "COMMITS_LOST")).toMatchObject([{ dataJson: '{"writes":1,"restored":0}' }]);
  expect(world.losses[0]?.incomplete.map(({ runId }) => runId)).toEqual(
    expect.arrayContaining([run.runId, gone.runId]),
  );
});

test("HISTORY-3: a connection that breaks while writes are sent again costs none of them", async () => {
  const world = await openWorld();
  const store = world.open();
  const run = await seedRun(store);
  const earlier = await keepEarlier(world.url);
  const steps = Array.from({ length: 30 }, (_, index) => index + 1);
  for (const version of steps) {
    const log = [logRow("STEP_COMPLETED", `step ${version}`)];
    const outcome = await store.commit({
      runId: run.runId,
      fence: null,
      cas: version,
      log,
      head: { status: "RUNNING" },
      removeJobs: [],
      addJobs: [],
    });
    expect(outcome).toMatchObject({ won: true });
  }
  const expected = await contents(store, [run]);
  await earlier.goBack();
  const next = seedRun(store);
  const sql = postgres(world.url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  let broken = 0;
  const over = next.then(() => true);
  while (
    !(await Promise.race([over, new Promise<false>((resolve) => setTimeout(() => resolve(false), 3))])) &&
    broken < 5
  ) {
    const ended =
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'holdfast-gateway writer'`;
    broken += ended.length;
  }
  await next;
  expect(await contents(store, [run])).toEqual(expected);
  expect((await checkInvariants(store)).broken).toEqual([]);
});

test("an event that a sender was told of is there again with its runs; one that the sender sent again is not doubled", async () => {
  const world = await openWorld();
  const store = world.open();
  await seedRun(store);
  const earlier = await keepEarlier(world.url);
  const item = (key: string) => {
    const [id, runId] = [newId(), newId()];
    const run = {
      id: runId,
      functionId: "shop-order",
      appId: "shop",
      appVersion: "1",
      eventId: id,
      eventName: "shop/order",
    };
    return {
      event: { id, name: "shop/order", idempotencyKey: key, tsMs: 1, payloadJson: '{"name":"shop/order"}' },
      runs: [{ run, log: [logRow("RUN_CREATED")], jobs: [passJob(runId)] }],
    };
  };
  const [kept, resent] = [item("one"), item("two")];
  await store.intake([kept, resent]);
  // Its sender is quicker, at another gateway.
  const again = item("two");
  const quick = openPostgresStore({ url: earlier.url, maxConnections: 3 });
  expect(await quick.intake([again])).toMatchObject([{ eventId: again.event.id, duplicate: false }]);
  await quick.close();
  await earlier.goBack();
  expect(await store.intake([item("one")])).toMatchObject([{ eventId: kept.event.id, duplicate: true }]);
  expect(await store.getEvent(kept.event.id)).toMatchObject({ id: kept.event.id });
  expect(await store.getEvent(resent.event.id)).toBeNull();
  expect(world.losses[0]?.incomplete.map(({ runId }) => runId)).toEqual(resent.runs.map(({ run }) => run.id));
});

test("a database that restarts and has everything is compared, and nothing is said", async () => {
  const world = await openWorld();
  const store = world.open();
  const run = await seedLeased(store);
  const sql = postgres(world.url, { max: 1 });
  onTestFinished(() => sql.end());
  await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
  expect(await store.commit(stepDone(run, "a"))).toMatchObject({ won: true });
  expect(world.named()).toEqual([]);
  expect(store.health().commitsLost).toBeNull();
});
