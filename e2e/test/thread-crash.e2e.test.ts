import { describe, expect, test } from "vitest";
import { inWorld, modes } from "./world.ts";

describe.each(modes)("$name", (mode) => {
  test("when the connection thread dies during a step, a new one adopts the request and nothing runs twice", async () => {
    await inWorld({ ...mode, tapped: true }, async (world) => {
      const app = await world.startApp();
      const runId = await world.trigger("gated");
      await world.noted(runId, "at long");
      await app.ask("killThread");
      // The new thread is connected and holds the request: it extends the same lease.
      await world.until("a second connection", () => world.tap.of("WORKER_READY").length === 2);
      await world.until("the adopted lease to be extended", () => {
        const [last] = world.tap.of("WORKER_REQUEST_EXTEND_LEASE").slice(-1);
        return last?.connection === world.tap.of("WORKER_READY")[1]?.connection && last?.frame.runId === runId;
      });
      expect(await app.ask("threadCount")).toBe(1);

      world.journal.open("long");
      expect((await world.ended(runId)).output).toBe("bl");
      expect(world.journal.counts(runId)).toEqual({ before: 1, long: 1, "at long": 1, "long ended": 1 });
      const replies = world.tap.of("WORKER_REPLY").filter(({ frame }) => frame.runId === runId);
      const requests = new Set(replies.map(({ frame }) => frame.requestId));
      expect(replies.length, "no reply was sent twice").toBe(requests.size);
      await app.close();
    });
  });

  test("a result not yet acknowledged when the thread dies is not lost", async () => {
    await inWorld({ ...mode, tapped: true }, async (world) => {
      const app = await world.startApp();
      const runId = await world.trigger("gated");
      await world.noted(runId, "at long");
      await world.tap.stop();
      world.journal.open("long");
      await world.noted(runId, "long ended");
      await app.ask("killThread");
      await world.tap.start();
      expect((await world.ended(runId)).output).toBe("bl");
      expect(world.journal.counts(runId)).toEqual({ before: 1, long: 1, "at long": 1, "long ended": 1 });
    });
  });
});
