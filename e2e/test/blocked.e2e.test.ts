import { describe, expect, test } from "vitest";
import type { TappedFrame } from "../support/tap.mjs";
import { inWorld, modes } from "./world.ts";

const heartbeatMs = 2_000;
const leaseMs = 8_000;
const extendMs = leaseMs / 4;
/** How much later than its interval a frame may be seen on a machine with two busy cores. */
const slackMs = 1_200;

const instants = (frames: readonly TappedFrame[], kind: string, from: number, to: number): number[] =>
  frames.filter((tapped) => tapped.frame?.kind === kind && tapped.at >= from && tapped.at <= to).map(({ at }) => at);

/** The longest silence in a span of time, its ends included. */
const longestGapMs = (times: readonly number[], from: number, to: number): number =>
  Math.max(...[...times, to].map((at, index) => at - (index === 0 ? from : (times[index - 1] as number))));

describe.each(modes)("$name", (mode) => {
  // Longer than the lease in both modes; the full 20 s where leases are ours to choose.
  const blockMs = mode.extensions ? 20_000 : 12_000;

  test(`a step that blocks the main thread for ${blockMs / 1000} s: heartbeats and leases keep their intervals`, async () => {
    const world = { ...mode, heartbeat: `${heartbeatMs}ms`, lease: `${leaseMs}ms`, tapped: true };
    await inWorld(world, async ({ startApp, trigger, ended, journal, tap }) => {
      await startApp();
      const runId = await trigger("blocking", { blockMs });
      expect((await ended(runId)).output).toBe("unblocked");

      const [began, finished] = journal.entries(runId);
      expect(journal.counts(runId)).toEqual({ block: 1, "block ended": 1 });
      const from = began?.at ?? 0;
      const to = finished?.at ?? 0;
      expect(to - from).toBeGreaterThanOrEqual(blockMs);

      const beats = instants(tap.frames, "WORKER_HEARTBEAT", from, to);
      const extensions = instants(tap.frames, "WORKER_REQUEST_EXTEND_LEASE", from, to);
      expect(longestGapMs(beats, from, to), "longest silence between heartbeats").toBeLessThan(heartbeatMs + slackMs);
      expect(longestGapMs(extensions, from, to), "longest silence between extensions").toBeLessThan(extendMs + slackMs);
      expect(beats.length).toBeLessThanOrEqual(Math.ceil((to - from) / heartbeatMs) + 1);

      const acks = tap.frames.flatMap(({ frame }) =>
        frame?.kind === "WORKER_REQUEST_EXTEND_LEASE_ACK" ? [frame] : [],
      );
      expect(
        acks.every((ack) => ack.newLeaseId !== undefined),
        "every extension was granted",
      ).toBe(true);
      expect(acks.length).toBeGreaterThanOrEqual(extensions.length);
      expect(tap.connections, "nothing reconnected").toBe(1);
      expect(tap.of("GATEWAY_EXECUTOR_REQUEST").every(({ frame }) => frame.runId === runId)).toBe(true);
    });
  });
});
