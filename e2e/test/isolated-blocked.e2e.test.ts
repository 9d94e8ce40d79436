import { expect, test } from "vitest";
import { inWorld, modes } from "./world.ts";

const RUNS = 20;
const BLOCKED_MS = 30_000;
const FIVE = { a: 1, b: 1, c: 1, d: 1, e: 1 };

test.each(modes)(
  "main is blocked for 30 s, and isolated runs begin and end until then, none of them twice: $name",
  async (mode) => {
    await inWorld({ ...mode, heartbeat: "2s", lease: "8s", tapped: true }, async (world) => {
      const { trigger, ended, journal, noted, tap, until } = world;
      const app = await world.startAppOf("isolated-app.mjs");
      void app.ask("block");
      await noted("main", "blocked");
      const since = performance.now();
      const runIds: string[] = [];
      for (let count = 0; count < RUNS; count += 1) runIds.push(await trigger("five"));
      for (const runId of runIds) expect(await ended(runId)).toMatchObject({ status: "COMPLETED" });
      // Leases and heartbeats have to last, too: more runs until main has been blocked for long enough.
      await until("the end of the block", async () => {
        const runId = await trigger("five");
        runIds.push(runId);
        expect(await ended(runId)).toMatchObject({ status: "COMPLETED" });
        return performance.now() - since > BLOCKED_MS;
      });
      expect(journal.has("main", "unblocked"), "main was blocked all the while").toBe(false);
      for (const runId of runIds) expect(journal.counts(runId)).toEqual(FIVE);
      expect(tap.connections, "nothing reconnected").toBe(1);
      expect(tap.leasesLost, "no lease was lost").toEqual([]);
      journal.open("main");
      await app.close();
    });
  },
);
