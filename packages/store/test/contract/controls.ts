/** The contract's part about what people set: pauses, rollouts, drains, and the registry's version. */
import { describe, expect, it } from "vitest";
import type { Store } from "../../src/index.ts";
import { type ContractBench, logRow, newId, newRun, passJob, runDone, seedRun } from "./harness.ts";

export function controlsContract(bench: ContractBench): void {
  /** Whether the registry's version has changed by it, and not otherwise than the call says. */
  async function changes(make: (store: Store) => Promise<boolean>): Promise<boolean> {
    const before = await bench.store.registryVersion();
    const changed = await make(bench.store);
    expect((await bench.store.registryVersion()) > before).toBe(changed);
    return changed;
  }

  describe("What people set", () => {
    it("a function is paused once, with its last note, until it is resumed", async () => {
      const id = `paused-${newId()}`;
      const pauseOf = async () =>
        (await bench.another().loadRegistry()).controls.pauses.find(({ functionId }) => functionId === id);
      expect(await changes((store) => store.pauseFunction(id, null))).toBe(true);
      const first = await pauseOf();
      expect(first).toEqual({ functionId: id, sinceMs: expect.any(Number), note: null });
      expect(await changes((store) => store.pauseFunction(id, null))).toBe(false);
      expect(await changes((store) => store.pauseFunction(id, "why"))).toBe(true);
      expect(await pauseOf()).toEqual({ ...first, note: "why" });
      expect(await changes((store) => store.resumeFunction(id))).toBe(true);
      expect(await changes((store) => store.resumeFunction(id))).toBe(false);
      expect(await pauseOf()).toBeUndefined();
    });

    it("an app has one rollout, a worker is drained once", async () => {
      const appId = `app-${newId()}`;
      const rolloutOf = async () =>
        (await bench.store.loadRegistry()).controls.rollouts.find((one) => one.appId === appId);
      expect(await changes((store) => store.setRollout({ appId, version: "2", percent: 12.5 }))).toBe(true);
      expect(await rolloutOf()).toEqual({ appId, version: "2", percent: 12.5, sinceMs: expect.any(Number) });
      expect(await changes((store) => store.setRollout({ appId, version: "2", percent: 12.5 }))).toBe(false);
      expect(await changes((store) => store.setRollout({ appId, version: "1", percent: 100 }))).toBe(true);
      expect(await rolloutOf()).toMatchObject({ version: "1", percent: 100 });
      expect(await changes((store) => store.removeRollout(appId))).toBe(true);
      expect(await changes((store) => store.removeRollout(appId))).toBe(false);
      const instance = newId();
      expect(await changes((store) => store.drainWorker(instance))).toBe(true);
      expect(await changes((store) => store.drainWorker(instance))).toBe(false);
      expect((await bench.store.loadRegistry()).controls.drains).toContainEqual({
        instance,
        sinceMs: expect.any(Number),
      });
      expect(await changes((store) => store.undrainWorker(instance))).toBe(true);
      expect(await changes((store) => store.undrainWorker(instance))).toBe(false);
    });

    it("claims, events and decisions that rest on what was set before are refused", async () => {
      const functionId = `before-${newId()}`;
      const run = await seedRun(bench.store, { run: { functionId } });
      const registryVersion = await bench.store.registryVersion();
      await bench.store.pauseFunction(functionId, null);
      const wants = [{ functionId, limit: 1 }];
      const claim = bench.store.claim({ gatewayId: "gateway-a", leaseMs: 60_000, registryVersion, wants });
      await expect(claim).rejects.toMatchObject({ reason: "outdated" });
      const other = newRun({ functionId });
      const event = { id: other.eventId, name: "shop/order", tsMs: 1, payloadJson: "{}" };
      const runs = [{ run: other, log: [logRow("RUN_CREATED")], jobs: [passJob(other.id, { functionId })] }];
      expect(await bench.store.intake([{ event, runs, registryVersion }])).toMatchObject([{ outdated: true }]);
      const decision = { ...runDone(run, 1, 0), registryVersion };
      expect(await bench.store.commit(decision)).toEqual({ won: false, why: "registry" });
      await bench.store.resumeFunction(functionId);
      expect(
        await bench.store.commit({ ...decision, registryVersion: await bench.store.registryVersion() }),
      ).toMatchObject({
        won: true,
      });
    });
  });
}
