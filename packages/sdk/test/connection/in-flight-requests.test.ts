import { fakeClock } from "@holdfast/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import { InFlightRequests } from "../../src/connection/thread/in-flight-requests.ts";

const SLUGS = ["app-a", "app-b", "app-c", "app-d"];

/** The parts of a capacity, each with its functions: what is in no partition is one part. */
const parts = fc
  .tuple(fc.subarray(SLUGS), fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 }))
  .map(([apart, capacity, other]) => {
    const [first = [], second = []] = [apart.slice(0, 1), apart.slice(1)];
    const partitions = [
      { functions: first, capacity },
      { functions: second, capacity: other },
    ].filter(({ functions }) => functions.length > 0);
    return { maxWorkerConcurrency: 2, partitions };
  });

const move = fc.record({
  do: fc.constantFrom("add", "reply", "remove" as const),
  slug: fc.constantFrom(...SLUGS),
  which: fc.nat(20),
});

test("what is running is counted for each part of the capacity, and for all of them", () => {
  fc.assert(
    fc.property(parts, fc.array(move, { maxLength: 40 }), (config, moves) => {
      const inFlight = new InFlightRequests(fakeClock(), 1, config);
      const open: { readonly id: string; readonly slug: string; running: boolean }[] = [];
      for (const [index, { do: what, slug, which }] of moves.entries()) {
        const one = open[which % Math.max(1, open.length)];
        const id = `r${index}`;
        if (what === "add") {
          inFlight.add({ requestId: id, functionSlug: slug } as never, "lease", true);
          open.push({ id, slug, running: true });
        } else if (one && what === "reply") {
          const request = inFlight.get(one.id);
          if (request) inFlight.markReplied(request);
          one.running = false;
        } else if (one) {
          inFlight.remove(one.id);
          open.splice(open.indexOf(one), 1);
        }
        const running = open.filter((each) => each.running);
        expect(inFlight.runningCount).toBe(running.length);
        for (const asked of SLUGS) {
          const part = (of: string): number => config.partitions.findIndex(({ functions }) => functions.includes(of));
          const limit = config.partitions[part(asked)]?.capacity ?? config.maxWorkerConcurrency;
          const count = running.filter((each) => part(each.slug) === part(asked)).length;
          expect(inFlight.partOf(asked)).toEqual({ running: count, maxRunning: limit });
        }
      }
    }),
    { numRuns: runs(300) },
  );
});
