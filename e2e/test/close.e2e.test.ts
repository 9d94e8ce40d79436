import { describe, expect, test } from "vitest";
import { inWorld, modes, type World } from "./world.ts";

/** The request that runs the long step, and the id under which its reply is acknowledged. */
const longRequest = (world: World, runId: string): string => {
  const requests = world.tap.of("GATEWAY_EXECUTOR_REQUEST").filter(({ frame }) => frame.runId === runId);
  return requests.at(-1)?.frame.requestId ?? "none";
};

describe.each(modes)("$name", (mode) => {
  const options = { ...mode, heartbeat: "2s", lease: "8s", tapped: true };

  /** Starts a run, waits until its long step runs, tells the app to close and waits for the pause. */
  async function closeDuringLongStep(world: World) {
    const app = await world.startApp();
    const runId = await world.trigger("gated");
    await world.noted(runId, "at long");
    const closed = app.ask("close");
    closed.catch(() => {});
    const pause = await world.tap.next("WORKER_PAUSE");
    return { app, runId, closed, pause };
  }

  /** After the app is gone, another finishes what is left of the run without doing anything again. */
  async function finishElsewhere(world: World, runId: string) {
    await world.startApp();
    expect((await world.ended(runId)).output).toBe("bl");
    expect(world.journal.counts(runId)).toEqual({ before: 1, long: 1, "at long": 1, "long ended": 1 });
  }

  test("close() during a long step takes no new work, keeps heartbeats and leases, and delivers the step's reply", async () => {
    await inWorld(options, async (world) => {
      const { app, runId, closed, pause } = await closeDuringLongStep(world);
      const other = await world.trigger("four");
      for (let count = 0; count < 3; count++) {
        await world.tap.next("WORKER_HEARTBEAT");
        await world.tap.next("WORKER_REQUEST_EXTEND_LEASE_ACK");
      }
      expect(world.tap.connections).toBe(1);
      expect(world.journal.entries(other), "work that came after the pause").toEqual([]);
      expect(await settled(closed), "close() waits for the step").toBe(false);

      const requestId = longRequest(world, runId);
      world.journal.open("long");
      await closed;
      expect((await app.exited).code, "the process ends by itself: nothing was left behind").toBe(0);
      expect(world.journal.has(runId, "long ended")).toBe(true);
      expect(
        world.tap.of("WORKER_READY").every(({ at }) => at <= pause.at),
        "READY after the pause",
      ).toBe(true);
      expect(world.tap.of("WORKER_REPLY").some(({ frame }) => frame.requestId === requestId)).toBe(true);
      expect(world.tap.of("WORKER_REPLY_ACK").some(({ frame }) => frame.requestId === requestId)).toBe(true);

      await finishElsewhere(world, runId);
      expect((await world.ended(other)).output).toBe(4);
    });
  });

  test("close() reconnects after a broken connection on the same port with PAUSE and never READY", async () => {
    await inWorld(options, async (world) => {
      const { app, runId, closed } = await closeDuringLongStep(world);
      const requestId = longRequest(world, runId);
      const seen = world.tap.frames.length;
      await world.tap.stop();
      await world.tap.start();
      await world.tap.next("WORKER_PAUSE");
      await world.tap.next("WORKER_HEARTBEAT");
      const granted = await world.tap.next("WORKER_REQUEST_EXTEND_LEASE_ACK");
      expect(granted.frame.newLeaseId, "the gateway kept the lease").toBeDefined();

      world.journal.open("long");
      await closed;
      expect((await app.exited).code).toBe(0);
      const after = world.tap.frames.slice(seen).map(({ frame }) => frame?.kind);
      expect(after).toContain("WORKER_CONNECT");
      expect(after).not.toContain("WORKER_READY");
      expect(world.tap.of("WORKER_REPLY_ACK").some(({ frame }) => frame.requestId === requestId)).toBe(true);

      await finishElsewhere(world, runId);
    });
  });
});

async function settled(promise: Promise<unknown>): Promise<boolean> {
  const done = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([done, new Promise<false>((resolve) => setImmediate(() => resolve(false)))]);
}
