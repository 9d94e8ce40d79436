import { describe, expect, test } from "vitest";
import type { Tap } from "../support/tap.mjs";
import { inWorld, modes } from "./world.ts";

/** The block lasts until another worker has done each of these so often: two leases long, whatever the machine does. */
const TIMES = 8;
const KINDS = ["WORKER_HEARTBEAT", "WORKER_REQUEST_EXTEND_LEASE"] as const;
type Kind = (typeof KINDS)[number];

const connectionOf = (tap: Tap, runId: string): number =>
  tap.of("GATEWAY_EXECUTOR_REQUEST").findLast(({ frame }) => frame.runId === runId)?.connection ?? -1;

describe.each(modes)("$name", (mode) => {
  test("a worker blocked for two leases sends as many heartbeats and lease extensions as an idle one", async () => {
    const world = { ...mode, heartbeat: "2s", lease: "8s", tapped: true };
    await inWorld(world, async ({ startApp, trigger, ended, journal, noted, until, tap }) => {
      const one = { HOLDFAST_CONNECT_MAX_WORKER_CONCURRENCY: "1" };
      await startApp(one);
      const waiting = await trigger("gated");
      await noted(waiting, "at long");
      await startApp(one);
      const blocking = await trigger("blocking-until");
      await noted(blocking, "block");

      const [beside, blocked] = [connectionOf(tap, waiting), connectionOf(tap, blocking)];
      expect(blocked).not.toBe(beside);
      const since = tap.frames.length;
      const count = (kind: Kind, connection: number): number =>
        tap.frames.slice(since).filter((tapped) => tapped.frame?.kind === kind && tapped.connection === connection)
          .length;
      await until("the other worker to have done everything often enough", () =>
        KINDS.every((kind) => count(kind, beside) >= TIMES),
      );
      for (const kind of KINDS) {
        expect(count(kind, blocked), kind).toBeGreaterThanOrEqual(count(kind, beside) / 2);
        expect(count(kind, blocked), kind).toBeLessThanOrEqual(count(kind, beside) * 2);
      }
      const again = tap.frames
        .slice(since)
        .flatMap(({ frame }) => (frame?.kind === "GATEWAY_EXECUTOR_REQUEST" ? [frame] : []));
      expect(again, "no other worker got it").toEqual([]);

      journal.open("main");
      journal.open("long");
      expect((await ended(blocking)).output).toBe("unblocked");
      expect((await ended(waiting)).output).toBe("bl");
      expect(journal.counts(blocking)).toEqual({ block: 1, "block ended": 1 });
      expect(tap.leasesLost, "every extension was granted").toEqual([]);
      expect(tap.connections, "nothing reconnected").toBe(2);
    });
  });
});
