import { describe, expect, test } from "vitest";
import { inWorld, type Mode, modes, type World } from "./world.ts";

/** Nothing here may be thanks to a lease that ended, or to a lost app that was not waited for any longer. */
const patient = { lease: "120s", grace: "120s" } as const;
/** But at a gateway as strict as the reference's, where work that an app has given up waits for its lease's end. */
const patientIfAble = (mode: Mode): Mode => ({ ...mode, ...patient, ...(mode.plain ? { lease: "3s" } : {}) });

/** An app whose step waits for a gate that is not opened before the test says so. */
async function held(world: World, env: Record<string, string>) {
  const app = await world.startApp(env);
  const runId = await world.trigger("gated");
  await world.noted(runId, "at long");
  return { app, runId };
}

/**
 * What an app gives up without extensions waits for the end of its lease at a gateway like the reference's, and at ours for nothing, lease
 * and grace of two minutes notwithstanding: that others have it at once can be seen only here.
 */
const ownRules: Mode = { name: "plain protocol, at our gateway by its own rules", extensions: false };

describe.each([...modes, ownRules])("$name", (mode) => {
  test("SIGTERM finishes running work, delivers results and ends the process as the signal would", async () => {
    await inWorld({ ...mode, ...patient, tapped: true }, async (world) => {
      const { app, runId } = await held(world, {});
      app.signal("SIGTERM");
      await world.tap.next("WORKER_PAUSE");
      world.journal.open("long");
      expect(await app.exited).toMatchObject({ code: null, signal: "SIGTERM" });
      expect(world.journal.has(runId, "long ended")).toBe(true);
      await world.startApp();
      expect((await world.ended(runId)).output).toBe("bl");
      expect(world.journal.counts(runId)).toEqual({ before: 1, long: 1, "at long": 1, "long ended": 1 });
    });
  });

  test("after SIGTERM with a handler that never returns, another worker gets the work at the deadline", async () => {
    await inWorld(patientIfAble(mode), async (world) => {
      const { app, runId } = await held(world, { HOLDFAST_DRAIN_TIMEOUT: "500ms" });
      const other = await world.startApp();
      app.signal("SIGTERM");
      await world.noted(runId, "at long", 2);
      expect(await app.exited).toMatchObject({ code: null, signal: "SIGTERM" });
      world.journal.open("long");
      expect((await world.ended(runId)).output).toBe("bl");
      const pids = world.journal.entries(runId).filter(({ what }) => what === "at long");
      expect(pids.map(({ pid }) => pid)).toEqual([app.pid, other.pid]);
      expect(world.journal.counts(runId).before, "the finished step").toBe(1);
      await other.close();
    });
  });

  test.each([
    ["at the deadline", "500ms", ["SIGTERM"]],
    ["at a second signal", "1h", ["SIGINT", "SIGTERM"]],
  ] as const)(
    "when a signalled process has a blocked main thread, %s another worker has the work",
    async (_when, drain, signals) => {
      await inWorld(patientIfAble(mode), async (world) => {
        const app = await world.startApp({ HOLDFAST_DRAIN_TIMEOUT: drain });
        const runId = await world.trigger("blocking-until");
        await world.noted(runId, "block");
        const other = await world.startApp();
        for (const signal of signals) app.signal(signal);
        await world.noted(runId, "block", 2);
        expect(app.alive, "it has not moved yet").toBe(true);
        world.journal.open("main");
        expect(signals).toContain((await app.exited).signal);
        expect((await world.ended(runId)).output).toBe("unblocked");
        const pids = world.journal.entries(runId).filter(({ what }) => what === "block");
        expect(pids.map(({ pid }) => pid)).toEqual([app.pid, other.pid]);
        await other.close();
      });
    },
  );

  test("a second signal ends the process without waiting for the deadline", async () => {
    await inWorld(patientIfAble(mode), async (world) => {
      const { app, runId } = await held(world, { HOLDFAST_DRAIN_TIMEOUT: "1h" });
      const other = await world.startApp();
      app.signal("SIGINT");
      app.signal("SIGTERM");
      expect((await app.exited).signal).toMatch(/^SIG(INT|TERM)$/);
      await world.noted(runId, "at long", 2);
      world.journal.open("long");
      expect((await world.ended(runId)).output).toBe("bl");
      await other.close();
    });
  });
});

test("a signal before the first connection ends the process", async () => {
  await inWorld({ name: "early", extensions: true }, async (world) => {
    const nobody = { HOLDFAST_DEV: "http://127.0.0.1:9", HOLDFAST_CONNECT_TIMEOUT: "1h" };
    const app = await world.startFixture("early-app.mjs", { env: nobody });
    app.signal("SIGTERM");
    expect(await app.exited).toMatchObject({ code: null, signal: "SIGTERM" });
    // The world's invariants want at least one run.
    const worker = await world.startApp();
    await world.ended(await world.trigger("four"));
    await worker.close();
  });
});

describe("A process that is stopped for longer than its lease and continued", () => {
  const mode = { name: "suspended", extensions: true, heartbeat: "300ms", lease: "1500ms", grace: "300ms" };
  /** An app in the middle of a step, stopped until the gateway has given its lease up. */
  async function stopped(world: World) {
    const { app, runId } = await held(world, {});
    app.signal("SIGSTOP");
    // Either the gateway gives it up with the silent worker, or it ended just before and was claimed again.
    await world.until("the lease to be given up", async () => {
      const [metrics, run] = [await world.api.metrics(), await world.api.run(runId)];
      return metrics.dispatcher.leasesLost > 0 || run.leasesLost > 0;
    });
    return { app, runId };
  }

  test("a process continued after its lease expired goes on when no other worker has its work", async () => {
    await inWorld(mode, async (world) => {
      const { app, runId } = await stopped(world);
      app.signal("SIGCONT");
      world.journal.open("long");
      expect((await world.ended(runId)).output).toBe("bl");
      expect(world.journal.counts(runId).before, "the finished step").toBe(1);
      await app.close();
    });
  });

  test("a process continued after its lease expired leaves alone what another worker has", async () => {
    await inWorld(mode, async (world) => {
      const { app, runId } = await stopped(world);
      const other = await world.startApp();
      await world.noted(runId, "at long", 2);
      app.signal("SIGCONT");
      await world.until("both to be connected", async () => (await world.api.metrics()).dispatcher.workers === 2);
      world.journal.open("long");
      expect((await world.ended(runId)).output).toBe("bl");
      expect(world.journal.counts(runId).before, "the finished step").toBe(1);
      await app.close();
      await other.close();
    });
  });
});
