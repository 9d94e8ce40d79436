/** The contract's part about apps, connections, tokens, and time that moves. */
import { describe, expect, it } from "vitest";
import type { AppRecord, ConnectionFilter, Wake } from "../../src/index.ts";
import { type ContractBench, newId, seedRun } from "./harness.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** With virtual time: deployments, tokens and event keys end after minutes and hours. */
export function registryContract(bench: ContractBench): void {
  const appOf = (id: string, version: string, names: readonly string[]): AppRecord => ({
    id,
    version,
    sdk: "holdfast 0.1.0",
    functions: names.map((name) => ({
      slug: `${id}-${name}`,
      name,
      triggersJson: "[]",
      configJson: `{"v":"${version}"}`,
    })),
  });

  describe("The registry", () => {
    it("the registry keeps a function's uuid and uses the newest configuration", async () => {
      const id = `shop-${newId()}`;
      const first = await bench.store.saveApps([appOf(id, "1", ["a", "b"])]);
      expect(first).toHaveLength(2);
      const { version } = await bench.store.loadRegistry();
      const second = await bench.another().saveApps([appOf(id, "2", ["a", "b"])]);
      expect(second.map((fn) => fn.uuid)).toEqual(first.map((fn) => fn.uuid));
      const registry = await bench.store.loadRegistry();
      expect(registry.version).toBeGreaterThan(version);
      expect(await bench.store.registryVersion()).toBe(registry.version);
      expect(registry.functions.filter(({ appId }) => appId === id)).toEqual(second);
      expect(second[0]).toMatchObject({ slug: `${id}-a`, appId: id, appVersion: "2", configJson: '{"v":"2"}' });
      expect(second[0]?.uuid).toMatch(/^[0-9a-f-]{36}$/);
      expect(await bench.store.saveApps([])).toEqual([]);
      expect(await bench.store.registryVersion()).toBe(registry.version);
    });

    it("the registry's mark is another one when what is read would be, and only then", async () => {
      const id = `mark-${newId()}`;
      const [one, two] = [appOf(id, "1", ["a"]), appOf(id, "2", ["a"])];
      let before = "";
      const isOther = async (): Promise<boolean> => {
        const mark = await bench.store.registryMark();
        const changed = mark !== before;
        before = mark;
        return changed;
      };
      await bench.store.saveApps([two]);
      expect(await isOther()).toBe(true);
      await bench.another().saveApps([two]);
      await bench.store.touchConnections("none", HOUR_MS);
      expect(await isOther()).toBe(false);
      // An older one that comes later is the newest for a moment: what it has is seen.
      await bench.another().saveApps([one]);
      expect(await isOther()).toBe(true);
      await bench.store.saveApps([two]);
      await isOther();
      const { version } = await bench.store.loadRegistry();
      await bench.store.pauseFunction(`${id}-a`, null);
      expect(await isOther()).toBe(true);
      expect((await bench.store.loadRegistry()).version).toBeGreaterThan(version);
      await bench.store.resumeFunction(`${id}-a`);
      await isOther();
      // Nobody has them any more: of the app's deployments none is listed.
      await bench.store.skipTime(8 * 24 * HOUR_MS);
      expect(await isOther()).toBe(true);
      expect((await bench.store.loadRegistry()).deployments.filter(({ appId }) => appId === id)).toEqual([]);
    });

    it("a deployment that was not seen for a week counts as new, unless it was its app's newest", async () => {
      const id = `old-${newId()}`;
      const [one, two] = [appOf(id, "1", ["a"]), appOf(id, "2", ["b"])];
      const active = async () =>
        (await bench.store.loadRegistry()).functions
          .filter(({ appId, active }) => appId === id && active)
          .map(({ name }) => name);
      await bench.store.saveApps([one]);
      await bench.store.saveApps([two]);
      await bench.store.skipTime(8 * 24 * HOUR_MS);
      await bench.store.saveApps([two]);
      await bench.store.touchConnections("none", HOUR_MS);
      expect(await active()).toEqual(["b"]);
      await bench.store.saveApps([one]);
      expect(await active()).toEqual(["a"]);
    });

    it("the newest deployment defines the app, and a reconnecting older one changes nothing while it is there", async () => {
      const id = `roll-${newId()}`;
      const state = async () =>
        (await bench.store.loadRegistry()).functions
          .filter(({ appId }) => appId === id)
          .map(({ name, configJson, active }) => `${name} ${configJson} ${active ? "active" : "gone"}`);
      const [one, two] = [appOf(id, "1", ["a", "b"]), appOf(id, "2", ["b", "c"])];
      await bench.store.saveApps([one]);
      expect(await state()).toEqual(['a {"v":"1"} active', 'b {"v":"1"} active']);
      const rolled = ['a {"v":"1"} gone', 'b {"v":"2"} active', 'c {"v":"2"} active'];
      await bench.store.saveApps([two]);
      expect(await state()).toEqual(rolled);
      await bench.another().saveApps([one]);
      expect(await state()).toEqual(rolled);
      // Rolled back: nothing was heard of the newer one for a while.
      await bench.store.skipTime(2 * MINUTE_MS);
      await bench.store.saveApps([one]);
      expect(await state()).toEqual(['a {"v":"1"} active', 'b {"v":"1"} active', 'c {"v":"2"} gone']);
    });

    it("a deployment comes back as the newest with a process that began since it was there last", async () => {
      const id = `back-${newId()}`;
      const active = async () =>
        (await bench.store.loadRegistry()).functions
          .filter(({ appId, active }) => appId === id && active)
          .map(({ name }) => name);
      const [one, two] = [appOf(id, "1", ["a"]), appOf(id, "2", ["b"])];
      await bench.store.saveApps([one]);
      await bench.store.saveApps([two]);
      // Started again a moment later, as after a crash in the middle of a deploy.
      await bench.another().saveApps([one], { startedAgoMs: 0 });
      expect(await active()).toEqual(["b"]);
      await bench.store.skipTime(2 * MINUTE_MS);
      await bench.store.saveApps([two]);
      // Connected again, after it could reach no gateway for a while.
      await bench.another().saveApps([one], { startedAgoMs: HOUR_MS });
      expect(await active()).toEqual(["b"]);
      await bench.store.skipTime(2 * MINUTE_MS);
      await bench.store.saveApps([two]);
      // Rolled back, while the newer one is still there.
      await bench.another().saveApps([one], { startedAgoMs: 1_000 });
      expect(await active()).toEqual(["a"]);
      await bench.store.saveApps([two], { startedAgoMs: HOUR_MS });
      expect(await active()).toEqual(["a"]);
    });

    it("where the last process counts, a deployment comes back at once; a process that is there already changes nothing", async () => {
      const id = `last-${newId()}`;
      const newest = async () =>
        (await bench.store.loadRegistry()).deployments.find(({ appId }) => appId === id)?.version;
      const [one, two] = [appOf(id, "1", ["a"]), appOf(id, "2", ["b"])];
      await bench.store.saveApps([one], { awayMs: 0 });
      await bench.store.skipTime(1_000);
      await bench.store.saveApps([two], { awayMs: 0 });
      await bench.store.skipTime(1_000);
      await bench.store.saveApps([one], { startedAgoMs: 500, awayMs: 0 });
      expect(await newest()).toBe("1");
      await bench.store.skipTime(1_000);
      await bench.store.saveApps([two], { startedAgoMs: 10_000, awayMs: 0 });
      expect(await newest()).toBe("1");
      await bench.store.skipTime(1_000);
      await bench.store.saveApps([two], { startedAgoMs: 500, awayMs: 0 });
      expect(await newest()).toBe("2");
    });

    const connectionOf = (appId: string, version: string) => ({
      id: newId(),
      gatewayId: `g-${appId}`,
      instanceId: "i",
      appIds: [appId],
      versions: [`${appId}@${version}`],
      queues: ["*"],
      partitions: [],
      capacity: 10,
      status: "READY",
      connectedMs: 1_700_000_000_000,
    });

    it("a deployment whose last worker said that it ends is gone at once, and an older one that is there is the newest", async () => {
      const id = `left "${newId()}"`;
      const newest = async () =>
        (await bench.store.loadRegistry()).deployments.find(({ appId }) => appId === id)?.version;
      const [one, two] = [appOf(id, "1", ["a"]), appOf(id, "2", ["b"])];
      const [first, second, third] = [connectionOf(id, "2"), connectionOf(id, "2"), connectionOf(id, "2")];
      await bench.store.saveApps([one]);
      await bench.store.saveApps([two]);
      for (const each of [first, second, connectionOf(id, "1")]) await bench.store.saveConnection(each);
      // Another one of it is still there, and is lost without a word: it may be about to connect again.
      await bench.store.removeConnections([first.id], [first.id]);
      await bench.another().saveApps([one]);
      expect(await newest()).toBe("2");
      await bench.store.removeConnections([second.id], []);
      await bench.another().saveApps([one]);
      expect(await newest()).toBe("2");
      // Connects again, and ends.
      await bench.store.saveConnection(third);
      await bench.store.removeConnections([third.id], [third.id]);
      await bench.another().saveApps([one], { trustsSilence: false });
      expect(await newest()).toBe("2");
      // One that has come meanwhile is seen, although it was known and nothing was recorded of it.
      const late = connectionOf(id, "2");
      await bench.store.saveConnection(late);
      await bench.another().saveApps([one]);
      expect(await newest()).toBe("2");
      await bench.store.removeConnections([late.id], [late.id]);
      await bench.another().saveApps([one]);
      expect(await newest()).toBe("1");
      // Replaced as it had left, it is back with a process that was started since, without the minute.
      await bench.store.skipTime(2_000);
      await bench.store.saveApps([two], { startedAgoMs: 1_000 });
      expect(await newest()).toBe("2");
    });

    it("an older deployment whose only worker ends and is started again changes nothing in the middle of a deploy", async () => {
      const id = `again-${newId()}`;
      const newest = async () =>
        (await bench.store.loadRegistry()).deployments.find(({ appId }) => appId === id)?.version;
      const [one, two] = [appOf(id, "1", ["a"]), appOf(id, "2", ["b"])];
      const older = connectionOf(id, "1");
      await bench.store.saveApps([one]);
      await bench.store.saveApps([two]);
      for (const each of [older, connectionOf(id, "2")]) await bench.store.saveConnection(each);
      await bench.store.removeConnections([older.id], [older.id]);
      await bench.store.skipTime(2_000);
      await bench.store.saveApps([one], { startedAgoMs: 1_000 });
      expect(await newest()).toBe("2");
      await bench.store.saveConnection(connectionOf(id, "1"));
      await bench.store.saveApps([one]);
      expect(await newest()).toBe("2");
    });

    it("of builds without a version none is gone when a worker of one of them ends: they cannot be told apart", async () => {
      const id = `same-${newId()}`;
      const active = async () =>
        (await bench.store.loadRegistry()).functions.filter(({ appId, active }) => appId === id && active);
      const [one, two] = [appOf(id, "", ["a"]), appOf(id, "", ["b"])];
      const [older, newer] = [connectionOf(id, ""), connectionOf(id, "")];
      await bench.store.saveApps([one]);
      await bench.store.saveApps([two]);
      for (const each of [older, newer]) await bench.store.saveConnection(each);
      await bench.store.removeConnections([newer.id], [newer.id]);
      await bench.store.saveApps([one]);
      expect(await active()).toMatchObject([{ name: "b" }]);
    });

    it("the builds of a version are those that were recorded within the last minute", async () => {
      const id = `builds-${newId()}`;
      await bench.store.saveApps([appOf(id, "", ["a"])]);
      expect(await bench.store.recentBuilds(id, "")).toHaveLength(1);
      await bench.another().saveApps([appOf(id, "", ["a", "b"])]);
      await bench.store.saveApps([appOf(id, "1", ["a", "b"])]);
      const builds = await bench.store.recentBuilds(id, "");
      expect(new Set(builds).size).toBe(2);
      expect(await bench.another().recentBuilds(id, "")).toEqual(builds);
      await bench.store.skipTime(2 * MINUTE_MS);
      await bench.store.saveApps([appOf(id, "", ["a"])]);
      expect(await bench.store.recentBuilds(id, "")).toHaveLength(1);
    });

    it("nothing follows from the silence of newer deployments where it may be the database that was away", async () => {
      const id = `silent-${newId()}`;
      const newest = async () =>
        (await bench.store.loadRegistry()).deployments.find(({ appId }) => appId === id)?.version;
      const [one, two] = [appOf(id, "1", ["a"]), appOf(id, "2", ["b"])];
      await bench.store.saveApps([one]);
      await bench.store.saveApps([two]);
      await bench.store.skipTime(2 * MINUTE_MS);
      await bench.store.saveApps([one], { trustsSilence: false });
      expect(await newest()).toBe("2");
      await bench.store.saveApps([one]);
      expect(await newest()).toBe("1");
    });

    it("each deployment keeps the queues that its functions name, the newest deployment of an app comes first", async () => {
      const id = `queues-${newId()}`;
      const [one, two] = [appOf(id, "1", ["a", "b"]), appOf(id, "2", ["a", "b"])];
      const inQueue = (app: AppRecord, queue: string): AppRecord => {
        const [first, ...others] = app.functions;
        return { ...app, functions: first ? [{ ...first, queue, configJson: queue }, ...others] : [] };
      };
      await bench.store.saveApps([inQueue(one, "gpu")]);
      await bench.another().saveApps([two]);
      await bench.store.saveApps([inQueue(two, "cpu")]);
      const { deployments } = await bench.store.loadRegistry();
      expect(deployments.flatMap(({ appId, version, queues }) => (appId === id ? [{ version, queues }] : []))).toEqual([
        { version: "2", queues: { [`${id}-a`]: "cpu" } },
        { version: "2", queues: {} },
        { version: "1", queues: { [`${id}-a`]: "gpu" } },
      ]);
    });

    it("two apps cannot have functions of one full name while the first app's deployment is there", async () => {
      const id = newId();
      const [shop, shopEu] = [appOf(`shop-${id}`, "1", ["eu-order"]), appOf(`shop-${id}-eu`, "1", ["order"])];
      await bench.store.saveApps([shop]);
      await expect(bench.another().saveApps([shopEu])).rejects.toMatchObject({ code: "FUNCTION_TAKEN" });
      await bench.store.skipTime(2 * MINUTE_MS);
      expect(await bench.another().saveApps([shopEu])).toMatchObject([{ appId: shopEu.id }]);
    });

    it("the registry lists connections until they are removed, and moves their signs of life with time", async () => {
      const gatewayId = `g-${newId()}`;
      const connection = (id: string, status: string) => ({
        id: `${gatewayId}-${id}`,
        gatewayId,
        instanceId: "i",
        appIds: ["shop"],
        versions: ["shop@1"],
        queues: ["gpu", "default"],
        partitions: [{ functionIds: ["shop-a"], capacity: 3 }],
        capacity: 10,
        status,
        connectedMs: 1_700_000_000_000,
      });
      const own = async () => (await bench.store.listConnections()).filter((each) => each.gatewayId === gatewayId);
      for (const id of ["c1", "c2"]) await bench.store.saveConnection(connection(id, "READY"));
      await bench.store.saveConnection({ ...connection("c1", "DRAINING"), connectedMs: 1 });
      expect(await own()).toMatchObject([
        { ...connection("c1", "DRAINING"), silentMs: 0 },
        { ...connection("c2", "READY"), silentMs: 0 },
      ]);
      const ids = async (filter: ConnectionFilter) => (await bench.store.listConnections(filter)).map(({ id }) => id);
      await bench.store.saveConnection({ ...connection("c3", "READY"), instanceId: `${gatewayId}-other` });
      expect(await ids({ instanceId: `${gatewayId}-other` })).toEqual([`${gatewayId}-c3`]);
      expect(await ids({ instanceId: `${gatewayId}-other`, exceptGatewayId: gatewayId })).toEqual([]);
      expect(await ids({ instanceId: `${gatewayId}-other`, exceptGatewayId: "another" })).toEqual([`${gatewayId}-c3`]);
      expect((await ids({ exceptGatewayId: gatewayId })).filter((id) => id.startsWith(gatewayId))).toEqual([]);
      await bench.store.removeConnections([`${gatewayId}-c3`]);
      await bench.store.touchGateway(gatewayId);
      await bench.store.skipTime(HOUR_MS);
      expect((await own()).every(({ silentMs }) => silentMs < MINUTE_MS)).toBe(true);
      await bench.store.touchConnections("another", 30 * MINUTE_MS);
      expect(await own()).toHaveLength(2);
      await bench.store.removeConnections([`${gatewayId}-c2`]);
      expect((await own()).map(({ id }) => id)).toEqual([`${gatewayId}-c1`]);
    });

    it("hundreds of connections are listed, seen and removed in one moment", async () => {
      const gatewayId = `g-${newId()}`;
      const connection = (index: number, status: string) => ({
        id: `${gatewayId}-${index}`,
        gatewayId,
        instanceId: `"i{${index}}\\, NULL`,
        appIds: ['a "quoted" app', "\\"],
        versions: [],
        queues: ["*"],
        partitions: [],
        capacity: index,
        status,
        connectedMs: 1_700_000_000_000 + index,
      });
      const own = async () => (await bench.store.listConnections()).filter((each) => each.gatewayId === gatewayId);
      const indexes = Array.from({ length: 600 }, (_, index) => index);
      const save = async (index: number) => {
        await bench.store.saveConnection(connection(index, "CONNECTING"));
        if (index % 3 > 0) await bench.store.saveConnection(connection(index, "READY"));
        if (index % 3 > 1) await bench.store.removeConnections([connection(index, "").id]);
      };
      const see = async () => {
        for (let time = 0; time < 5; time += 1) await bench.store.touchConnections(gatewayId, MINUTE_MS);
      };
      // Two of the same in one moment: the later one counts.
      const again = [bench.store.saveConnection(connection(600, "READY"))];
      again.push(bench.store.saveConnection(connection(600, "DRAINING")));
      await Promise.all([see(), ...indexes.map(save), ...again]);
      const expected = indexes
        .filter((index) => index % 3 < 2)
        .map((index) => connection(index, index % 3 === 0 ? "CONNECTING" : "READY"));
      expect(await own()).toMatchObject([connection(600, "DRAINING"), ...expected.toReversed()]);
    });

    it("of hundreds of session tokens in one moment each is used once", async () => {
      const ids = Array.from({ length: 300 }, () => newId());
      const stores = [bench.store, bench.another(), bench.store];
      const used = await Promise.all(
        stores.map((store) => Promise.all(ids.map((id) => store.useToken(id, MINUTE_MS)))),
      );
      expect(ids.every((_, index) => used.filter((answers) => answers[index]).length === 1)).toBe(true);
    });

    it("a session token is used once, at whatever gateway", async () => {
      const id = newId();
      const stores = [bench.store, bench.another(), bench.another()];
      const used = await Promise.all(stores.map((store) => store.useToken(id, MINUTE_MS)));
      expect(used.filter(Boolean)).toHaveLength(1);
      expect(await bench.store.useToken(id, MINUTE_MS)).toBe(false);
      expect(await bench.store.useToken(newId(), MINUTE_MS)).toBe(true);
      expect(await bench.another().secret()).toBe(await bench.store.secret());
    });
  });

  describe("Virtual time", () => {
    it("an event is new again when its key is older than 24 hours", async () => {
      const event = () => ({
        event: { id: newId(), name: "e", idempotencyKey: "key", tsMs: 1, payloadJson: "{}" },
        runs: [],
      });
      const [first, later] = [event(), event()];
      expect(await bench.store.intake([first])).toMatchObject([{ duplicate: false }]);
      await bench.store.skipTime(23 * HOUR_MS);
      expect(await bench.store.intake([event()])).toMatchObject([{ duplicate: true, eventId: first.event.id }]);
      await bench.store.skipTime(2 * HOUR_MS);
      await bench.store.touchConnections("g", MINUTE_MS);
      expect(await bench.store.intake([later])).toMatchObject([{ duplicate: false, eventId: later.event.id }]);
    });

    it("an event's key counts as long as its sender wants", async () => {
      const event = () => ({
        event: { id: newId(), name: "e", idempotencyKey: "kept", keyKeptMs: 240 * HOUR_MS, tsMs: 1, payloadJson: "{}" },
        runs: [],
      });
      const first = event();
      expect(await bench.store.intake([first])).toMatchObject([{ duplicate: false }]);
      await bench.store.skipTime(239 * HOUR_MS);
      await bench.store.touchConnections("g", MINUTE_MS);
      expect(await bench.store.intake([event()])).toMatchObject([{ duplicate: true, eventId: first.event.id }]);
      await bench.store.skipTime(2 * HOUR_MS);
      await bench.store.touchConnections("g", MINUTE_MS);
      expect(await bench.store.intake([event()])).toMatchObject([{ duplicate: false }]);
    });

    it("the depth of the queue says for how long its oldest due job has been due", async () => {
      await seedRun(bench.store, { run: { functionId: "kept-waiting" } });
      await bench.store.skipTime(90_000);
      const depth = await bench.store.queueDepth();
      expect(depth.due).toBeGreaterThan(0);
      expect(depth.oldestDueMs).toBeGreaterThanOrEqual(90_000);
    });

    it("time that is skipped is the time of every store, and each is notified that something may be due", async () => {
      const other = bench.another();
      const told = (isIt: (wake: Wake) => boolean): Promise<void> =>
        new Promise((resolve) => {
          const stop = other.onWake((wake) => {
            if (!isIt(wake)) return;
            stop();
            resolve();
          });
        });
      const isAnything = ({ type }: Wake): boolean => type === "ANYTHING";
      // From here on it receives notifications, first those of earlier skips: the mark comes after them.
      await told(isAnything);
      const mark = newId();
      const marked = told((wake) => wake.type === "RUNS_ENDED" && wake.runIds.includes(mark));
      bench.store.notify({ type: "RUNS_ENDED", runIds: [mark] });
      await marked;
      const before = await other.nowMs();
      const skipped = told(isAnything);
      await bench.store.skipTime(HOUR_MS);
      await skipped;
      expect(await other.nowMs()).toBeGreaterThanOrEqual(before + HOUR_MS);
    });
  });
}
