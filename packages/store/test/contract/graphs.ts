/** The contract's part about graphs: drafts, versions, what is published and triggered, and runs that were made of them. */
import { describe, expect, it } from "vitest";
import {
  cronKey,
  GRAPH_CRON_APP,
  type GraphPublication,
  type GraphPut,
  type GraphRunMark,
  graphCronOwner,
  type NewCron,
  RUN_STATUSES,
  type StoredGraph,
} from "../../src/index.ts";
import { type ContractBench, logRow, newId, newRun, passJob, runDone } from "./harness.ts";

const DAY_MS = 86_400_000;
const NOTHING = { events: [], crons: [] };

export function graphsContract(bench: ContractBench): void {
  const put = (more: Partial<GraphPut> = {}) =>
    bench.store.putGraph({
      environment: "",
      tenant: "",
      id: `graph-${newId()}`,
      uid: newId(),
      title: "Onboarding",
      runner: "shop-graphs",
      draftJson: "{}",
      expectedRevision: null,
      writeId: newId(),
      ...more,
    });
  const stored = async (more: Partial<GraphPut> = {}): Promise<StoredGraph> => {
    const outcome = await put(more);
    if (outcome.outcome !== "stored") throw new Error("the draft was not stored");
    return outcome.graph;
  };
  const publish = (graph: StoredGraph, more: Partial<GraphPublication> = {}) => {
    const { environment, tenant, id, uid, revision, runner } = graph;
    const of = { revision, snapshotJson: `{"revision":${revision}}`, writeId: newId() };
    return bench.store.publishGraph({
      environment,
      tenant,
      id,
      uid,
      of,
      runner,
      triggers: NOTHING,
      crons: [],
      ...more,
    });
  };
  const publishedOf = async (uid: string) =>
    (await bench.another().loadRegistry()).graphs.find((graph) => graph.uid === uid);
  const cron = (uid: string, text: string, jobId = newId()): NewCron => {
    const [tickMs, jitterMs] = [1_900_000_000_000, 0];
    return {
      functionId: graphCronOwner(uid),
      appId: GRAPH_CRON_APP,
      cron: text,
      jitterMs,
      tickMs,
      dueMs: tickMs,
      jobId,
    };
  };
  const nameOf = ({ environment, tenant, id }: StoredGraph) => ({ environment, tenant, id });

  describe("Drafts of graphs", () => {
    it("a draft is written over the one that its writer has read, and over no other", async () => {
      const graph = await stored({ expectedRevision: 0, draftJson: '{"a":1}' });
      expect(graph).toMatchObject({ revision: 1, version: null, lastVersion: 0, draftJson: '{"a":1}' });
      const name = nameOf(graph);
      expect(await put({ ...name, expectedRevision: 0 })).toEqual({ outcome: "conflict", graph });
      const second = await put({ ...name, expectedRevision: 1, title: "New", draftJson: '{"a":2}' });
      expect(second).toMatchObject({ outcome: "stored", graph: { uid: graph.uid, revision: 2, title: "New" } });
      expect(await put({ ...name, expectedRevision: 1 })).toMatchObject({
        outcome: "conflict",
        graph: { revision: 2 },
      });
      expect(await put({ ...name })).toMatchObject({ outcome: "stored", graph: { revision: 3 } });
      expect(await bench.another().getGraph(name)).toMatchObject({ uid: graph.uid, revision: 3, draftJson: "{}" });
      expect(await put({ expectedRevision: 4 })).toEqual({ outcome: "conflict", graph: null });
    });

    it("a write that is repeated counts once; of two at once that expect the same one wins", async () => {
      const graph = await stored();
      const again = { ...nameOf(graph), expectedRevision: 1, writeId: newId() };
      expect(await put(again)).toMatchObject({ outcome: "stored", graph: { revision: 2 } });
      expect(await put(again)).toMatchObject({ outcome: "stored", graph: { revision: 2 } });
      const both = await Promise.all([1, 2].map(() => put({ ...nameOf(graph), expectedRevision: 2 })));
      expect(both.map(({ outcome }) => outcome).sort()).toEqual(["conflict", "stored"]);
      const name = { environment: "", tenant: "", id: `new-${newId()}`, expectedRevision: 0 };
      const other = { ...graph, ...name, uid: newId(), writeId: newId() };
      const made = await Promise.all([put(name), bench.another().putGraph(other)]);
      expect(made.map(({ outcome }) => outcome).sort()).toEqual(["conflict", "stored"]);
    });

    it("names are those of one environment and one tenant; a page goes on after its last one", async () => {
      const environment = `env-${newId().toLowerCase()}`;
      for (const [tenant, id] of [
        ["a", "y"],
        ["a", "x"],
        ["b", "x"],
      ] as const)
        await stored({ environment, tenant, id });
      const page = async (more: object) =>
        (await bench.store.listGraphs({ environment, limit: 10, ...more })).map(({ tenant, id }) => `${tenant}/${id}`);
      expect(await page({})).toEqual(["a/x", "a/y", "b/x"]);
      expect(await page({ limit: 2 })).toEqual(["a/x", "a/y"]);
      expect(await page({ after: { tenant: "a", id: "y" } })).toEqual(["b/x"]);
      expect(await page({ tenant: "a", after: { tenant: "a", id: "x" } })).toEqual(["a/y"]);
      expect(await page({ environment: "none" })).toEqual([]);
      expect(await bench.store.getGraph({ environment: "none", tenant: "a", id: "x" })).toBeNull();
    });
  });

  describe("Versions of graphs", () => {
    it("a version is what its draft was, whatever becomes of the draft; numbers are not used again", async () => {
      const graph = await stored();
      expect(await publish(graph)).toEqual({ outcome: "published", version: 1, publishedMs: expect.any(Number) });
      const second = await stored({ ...nameOf(graph) });
      expect(await publish(graph)).toEqual({ outcome: "conflict", revision: 2 });
      expect(await publish(second)).toMatchObject({ outcome: "published", version: 2 });
      const first = await bench.another().getGraphVersion(graph.uid, 1);
      expect(first).toMatchObject({ uid: graph.uid, version: 1, revision: 1, snapshotJson: '{"revision":1}' });
      expect(await bench.store.getGraphVersion(graph.uid, 3)).toBeNull();
      expect(await publish(second, { of: { version: 1 } })).toMatchObject({ outcome: "published", version: 1 });
      expect(await bench.store.getGraph(nameOf(graph))).toMatchObject({ version: 1, lastVersion: 2 });
      expect(await publish(second, { of: { version: 9 } })).toEqual({ outcome: "gone" });
      expect(await publish(second)).toMatchObject({ outcome: "published", version: 3 });
      const numbers = async (...asked: [number, number?]) =>
        (await bench.store.listGraphVersions(graph.uid, ...asked)).map(({ version }) => version);
      expect(await numbers(10)).toEqual([3, 2, 1]);
      expect(await numbers(1, 3)).toEqual([2]);
    });

    it("a publication that is repeated makes no second version", async () => {
      const graph = await stored();
      const of = { revision: 1, snapshotJson: "{}", writeId: newId() };
      expect(await publish(graph, { of })).toMatchObject({ version: 1 });
      await stored(nameOf(graph));
      expect(await publish(graph, { of })).toMatchObject({ version: 1 });
      expect(await bench.store.listGraphVersions(graph.uid, 10)).toHaveLength(1);
      expect(await publish({ ...graph, uid: newId() })).toEqual({ outcome: "gone" });
    });
  });

  describe("Triggers of graphs", () => {
    const triggers = { events: [{ pattern: "shop/joined", condition: null }], crons: ["0 9 * * *"] };

    it("are read with the registry, and change its version only where they change", async () => {
      const version = () => bench.store.registryVersion();
      const before = await version();
      const graph = await stored();
      await publish(graph);
      expect(await version()).toBe(before);
      const crons = [cron(graph.uid, "0 9 * * *")];
      await publish(graph, { triggers, crons });
      const second = await version();
      expect(second).toBeGreaterThan(before);
      const { environment, tenant, id, uid } = graph;
      expect(await publishedOf(uid)).toEqual({
        environment,
        tenant,
        id,
        uid,
        version: 2,
        runner: "shop-graphs",
        triggers,
      });
      await publish(graph, { of: { version: 2 }, triggers, crons });
      expect(await version()).toBe(second);
      await publish(graph, { of: { version: 1 }, triggers, crons });
      expect(await version()).toBeGreaterThan(second);
      expect(await bench.store.unpublishGraph(nameOf(graph))).toBe(true);
      expect(await publishedOf(uid)).toBeUndefined();
      expect(await bench.store.unpublishGraph(nameOf(graph))).toBe(false);
      expect(await bench.store.getGraph(nameOf(graph))).toMatchObject({ version: null, lastVersion: 2 });
    });

    it("a schedule that stays keeps its tick, one that goes takes its job along, one that is missing comes back", async () => {
      const graph = await stored();
      const { uid } = graph;
      const owner = graphCronOwner(uid);
      const kept = cron(uid, "0 9 * * *");
      const nine = { events: [], crons: ["0 9 * * *"] };
      await publish(graph, { triggers: nine, crons: [kept] });
      await publish(graph, {
        triggers: { events: [], crons: ["0 9 * * *", "0 10 * * *"] },
        crons: [{ ...cron(uid, "0 9 * * *"), tickMs: 1_950_000_000_000 }, cron(uid, "0 10 * * *")],
      });
      expect(await bench.store.loadCron(owner, "0 9 * * *")).toMatchObject({ tickMs: kept.tickMs });
      await publish(graph, { triggers: { events: [], crons: ["0 10 * * *"] }, crons: [cron(uid, "0 10 * * *")] });
      expect(await bench.store.loadCron(owner, "0 9 * * *")).toBeNull();
      await bench.store.repairGraphCrons([{ ...kept, uid, version: 2 }]);
      expect(await bench.store.loadCron(owner, "0 9 * * *")).toBeNull();
      await bench.store.repairGraphCrons([{ ...kept, uid, version: 3 }]);
      expect(await bench.store.loadCron(owner, "0 9 * * *")).toMatchObject({ tickMs: kept.tickMs });
      expect(await bench.store.deleteGraph(nameOf(graph), false)).toBe("deleted");
      expect(await bench.store.loadCron(owner, "0 10 * * *")).toBeNull();
      expect(await publishedOf(uid)).toBeUndefined();
    });

    it("registrations of apps leave schedules of graphs alone", async () => {
      const graph = await stored();
      await publish(graph, { triggers, crons: [cron(graph.uid, "0 9 * * *")] });
      await bench.store.saveCrons(["shop"], [], []);
      expect(await bench.store.loadCron(graphCronOwner(graph.uid), "0 9 * * *")).not.toBeNull();
      expect(cronKey(graphCronOwner(graph.uid), "x").split("\n")).toHaveLength(2);
    });

    it("what was decided before a publication is refused after it", async () => {
      const registryVersion = await bench.store.registryVersion();
      const graph = await stored();
      await publish(graph, { triggers, crons: [] });
      const run = newRun();
      const event = { id: run.eventId, name: "shop/joined", tsMs: 1, payloadJson: "{}" };
      const runs = [{ run, log: [logRow("RUN_CREATED")], jobs: [passJob(run.id)] }];
      expect(await bench.store.intake([{ event, runs, registryVersion }])).toMatchObject([{ outdated: true }]);
    });
  });

  describe("Runs of graphs", () => {
    const seed = async (graph: GraphRunMark | null) => {
      const run = newRun({ functionId: "shop-graphs", ...(graph ? { graph } : {}) });
      const job = passJob(run.id, { lease: { gatewayId: "gateway-a", leaseMs: 60_000 } });
      const event = { id: run.eventId, name: run.eventName, tsMs: 1, payloadJson: "{}" };
      await bench.store.intake([{ event, runs: [{ run, log: [logRow("RUN_CREATED")], jobs: [job] }] }]);
      return { runId: run.id, jobId: job.id };
    };
    const listed = async (more: object) =>
      (await bench.store.listRuns({ limit: 100, functionId: "shop-graphs", ...more })).runs.map(({ id }) => id);

    it("are found by their graph, and apart from tests; deleted ones leave no trace", async () => {
      const graph = await stored();
      const run = await seed({ uid: graph.uid, version: 2, test: false });
      const test = await seed({ uid: "", version: null, test: true });
      const other = await seed(null);
      expect(await listed({ graphUid: graph.uid })).toEqual([run.runId]);
      expect(await listed({ graphUid: graph.uid, test: true })).toEqual([]);
      expect(await listed({ test: true })).toEqual([test.runId]);
      expect(await listed({ test: true, environment: "other", functionId: undefined })).toEqual([]);
      expect(await listed({ test: false })).toEqual([other.runId, run.runId]);
      expect(await bench.store.graphRuns([run.runId, other.runId, test.runId])).toEqual(
        new Map([
          [run.runId, { uid: graph.uid, version: 2, test: false }],
          [test.runId, { uid: "", version: null, test: true }],
        ]),
      );
      expect(await bench.store.graphNames([graph.uid, "none", ""])).toEqual(
        new Map([[graph.uid, { environment: graph.environment, tenant: graph.tenant, id: graph.id }]]),
      );
      expect(await bench.store.graphNames([])).toEqual(new Map());
      const ofGraph = { environment: graph.environment, status: RUN_STATUSES, graphUid: graph.uid };
      expect((await bench.store.bulkPage(ofGraph, "~", 100)).runIds).toEqual([run.runId]);
      await bench.store.commit(runDone(test));
      expect(await bench.store.deleteRuns([test.runId])).toEqual(["deleted"]);
      expect(await bench.store.graphRuns([test.runId])).toEqual(new Map());
    });

    it("are found by the ids that callers gave them, whichever graph of the environment they are of", async () => {
      const [environment, name, key] = [`env-${newId()}`, "holdfast/graph.requested", newId()];
      const [one, two] = [await stored({ environment }), await stored({ environment, tenant: "acme" })];
      const elsewhere = await stored({ environment: `env-${newId()}` });
      const event = (scope: string) => ({ id: newId(), name, tsMs: 1, payloadJson: "{}", idempotencyKey: scope });
      const events = [one, two, elsewhere].map(({ uid }) => event(`${uid}\n${key}`));
      const [ofOne, ofTwo, ofElsewhere] = events.map(({ id }) => id);
      const other = event(`${one.uid}\n${newId()}`);
      await bench.store.intake([...events, other].map((each) => ({ event: { ...each, keyKeptMs: DAY_MS }, runs: [] })));
      expect(await bench.store.eventsOfKeys([], { name, key, environment })).toEqual([ofOne, ofTwo].sort());
      expect(
        await bench.store.eventsOfKeys([{ name, key: `${elsewhere.uid}\n${key}` }], { name, key, environment }),
      ).toEqual([ofOne, ofTwo, ofElsewhere].sort());
      expect(await bench.store.eventsOfKeys([], { name: "shop/other", key, environment })).toEqual([]);
      expect(await bench.store.deleteGraph(nameOf(two), false)).toBe("deleted");
      expect(await bench.store.eventsOfKeys([], { name, key, environment })).toEqual([ofOne]);
    });

    it("a graph with runs that go on is deleted only by force, which does not touch them", async () => {
      const graph = await stored();
      const run = await seed({ uid: graph.uid, version: 1, test: false });
      await seed({ uid: "", version: null, test: true });
      expect(await bench.store.deleteGraph(nameOf(graph), false)).toBe("living");
      expect(await bench.store.deleteGraph(nameOf(graph), true)).toBe("deleted");
      expect(await bench.store.deleteGraph(nameOf(graph), true)).toBe("gone");
      expect(await bench.store.getRun(run.runId)).toMatchObject({ head: { endedMs: null } });
      const again = await stored(nameOf(graph));
      expect(again).toMatchObject({ revision: 1, lastVersion: 0 });
      expect(again.uid).not.toBe(graph.uid);
      const ended = await seed({ uid: again.uid, version: 1, test: false });
      await bench.store.commit(runDone(ended));
      expect(await bench.store.deleteGraph(nameOf(again), false)).toBe("deleted");
    });

    it("tests that are a day old and not on hold are found, the oldest first", async () => {
      const onHold = await seed({ uid: "", version: null, test: true });
      await bench.store.holdRun(onHold.runId, "it is looked into");
      const old = await seed({ uid: "", version: null, test: true });
      await seed({ uid: "", version: null, test: false });
      expect(await bench.store.oldGraphTests(DAY_MS, 10)).not.toContain(old.runId);
      await bench.store.skipTime(DAY_MS + 1_000);
      const young = await seed({ uid: "", version: null, test: true });
      const found = await bench.store.oldGraphTests(DAY_MS, 10);
      expect(found).toContain(old.runId);
      expect(found).not.toContain(young.runId);
      expect(found).not.toContain(onHold.runId);
      expect(await bench.store.oldGraphTests(DAY_MS, 1)).toHaveLength(1);
    });
  });
}
