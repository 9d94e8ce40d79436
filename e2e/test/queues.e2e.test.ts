import { describe, expect, test } from "vitest";
import { inWorld, modes, type World } from "./world.ts";

const GPU = { env: { HOLDFAST_CONNECT_QUEUES: "gpu" } };

/** Which processes have noted what in a run. */
function pidsOf({ journal }: World, runId: string): Set<number> {
  return new Set(journal.entries(runId).map(({ pid }) => pid));
}

async function waitingOf({ url }: World, runId: string): Promise<{ reason: string; message: string } | null> {
  const run = (await (await fetch(new URL(`/v1/runs/${runId}`, url))).json()) as { waiting: never };
  return run.waiting;
}

describe("Queues", () => {
  test("only the gpu worker runs what is in its queue; killed, its runs wait and say why; they go on once, with another", async () => {
    await inWorld({ name: "queues", extensions: true, grace: "200ms" }, async (world) => {
      const web = await world.startAppOf("queue-app.mjs");
      const gpu = await world.startAppOf("queue-app.mjs", GPU);
      const training = await world.trigger("train");
      const [order, failing] = [await world.trigger("order"), await world.trigger("failing")];
      expect((await world.ended(order)).output).toBe("ship quick");
      expect(pidsOf(world, order)).toEqual(new Set([web.pid]));
      await world.noted(failing, "told");
      expect(world.journal.counts(failing)).toEqual({ fails: 2, told: 1 });
      expect(pidsOf(world, failing)).toEqual(new Set([gpu.pid]));
      await world.noted(training, "at fit");
      await gpu.kill();
      const next = await world.trigger("train");
      const message = 'No connected worker of the app "queues" serves the queue "gpu".';
      for (const runId of [training, next]) {
        await world.until("the reason", async () => (await waitingOf(world, runId))?.reason === "NO_WORKER_IN_QUEUE");
        expect(await waitingOf(world, runId)).toMatchObject({ reason: "NO_WORKER_IN_QUEUE", message });
      }
      await world.gateway.line((line) => line.includes('"NO_WORKER_IN_QUEUE"'), 100_000);
      // What invokes a function of the queue waits for it; all else goes on.
      const half = await world.trigger("order");
      await world.noted(half, "order");
      expect(world.journal.has(half, "ship")).toBe(false);
      world.journal.open("fit");
      const back = await world.startAppOf("queue-app.mjs", GPU);
      for (const runId of [training, next]) expect((await world.ended(runId)).output).toBe("save");
      expect((await world.ended(half)).output).toBe("ship quick");
      expect(world.journal.counts(next)).toMatchObject({ load: 1, fit: 1, save: 1 });
      expect(world.journal.counts(training)).toMatchObject({ load: 1, fit: 1, save: 1, "fit begins": 2 });
      expect(pidsOf(world, next)).toEqual(new Set([back.pid]));
      expect(pidsOf(world, training)).toEqual(new Set([gpu.pid, back.pid]));
      expect(await waitingOf(world, next)).toBeNull();
    });
  });

  test("two gateways with a queue each: runs reach the workers of their queue from either", async () => {
    await inWorld({ name: "two gateways", extensions: true }, async (world) => {
      const second = await world.secondGateway();
      const web = await world.startAppOf("queue-app.mjs");
      const gpu = await world.startAppOf("queue-app.mjs", { env: { ...GPU.env, HOLDFAST_DEV: second.url } });
      world.journal.open("fit");
      for (let n = 0; n < 3; n += 1) {
        const [order, training] = [await world.trigger("order"), await world.trigger("train")];
        expect((await world.ended(order)).output).toBe("ship quick");
        expect((await world.ended(training)).output).toBe("save");
        expect(pidsOf(world, order)).toEqual(new Set([web.pid]));
        expect(pidsOf(world, training)).toEqual(new Set([gpu.pid]));
      }
    });
  });

  test.each(modes.filter(({ plain }) => plain))(
    "$name: a worker that is not to run everything is refused",
    async (mode) => {
      await inWorld(mode, async (world) => {
        await expect(world.startAppOf("queue-app.mjs", GPU)).rejects.toThrow(
          /QUEUES_UNSUPPORTED|not to run queues-order/,
        );
        const all = await world.startAppOf("queue-app.mjs", { env: { HOLDFAST_CONNECT_QUEUES: "*" } });
        expect((await world.ended(await world.trigger("order"))).output).toBe("ship quick");
        await all.close();
      });
    },
  );
});
