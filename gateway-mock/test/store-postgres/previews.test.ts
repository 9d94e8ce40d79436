/** What a preview of a removal says, beside what the removal then does. */
import { ulidTimeMs } from "@holdfast/core";
import { expect, test } from "vitest";
import { runDone, type SeededRun, seedLeased, useStore } from "./harness.ts";

const bench = useStore();
const DAY_MS = 86_400_000;
const POLICY = { completedMs: DAY_MS, failedMs: DAY_MS, functions: new Map() };
const RUNS = 10;

test("a preview counts the events of runs that go, and of an environment only its part of the space", async () => {
  const runs: SeededRun[] = [];
  for (let n = 0; n < RUNS; n += 1) {
    runs.push(await seedLeased(bench.store, n === 0 ? "@@small:shop-order" : "shop-order"));
  }
  for (const run of runs) await bench.store.commit(runDone(run));
  const first = runs[0]?.runId ?? "";
  await bench.db.sql.unsafe(`UPDATE holdfast.events e SET received_at = received_at - interval '3 weeks',
    name = CASE r.id WHEN '${first}' THEN '@@small:e' ELSE 'e' END FROM holdfast.runs r WHERE r.event_id = e.id`);
  await bench.db.sql.unsafe("UPDATE holdfast.runs SET ended_at = ended_at - interval '3 weeks'");

  // Nothing is counted yet in partitions that may still fill: what is there is younger.
  const later = await bench.store.previewPrune(POLICY, "small");
  expect(later).toEqual({ runs: 0, events: 0, bytes: 0, oldestRunMs: ulidTimeMs(first) });
  expect((await bench.store.previewPrune(POLICY, "elsewhere")).oldestRunMs).toBeNull();

  await bench.db.sql.unsafe("UPDATE holdfast.table_partitions SET to_at = to_at - interval '3 weeks'");
  const all = await bench.store.previewPrune(POLICY);
  expect(all).toMatchObject({ runs: RUNS, events: RUNS, oldestRunMs: null });
  const small = await bench.store.previewPrune(POLICY, "small");
  expect(small).toMatchObject({ runs: 1, events: 1 });
  expect(Math.abs(small.bytes - all.bytes / RUNS)).toBeLessThan(10);
  expect(await bench.store.previewPrune(POLICY, "elsewhere")).toMatchObject({ runs: 0, events: 0, bytes: 0 });

  expect(await bench.store.prune(POLICY, { sinceMs: await bench.store.nowMs() })).toEqual({
    ...{ state: "done", removedRuns: all.runs, removedEvents: all.events },
  });
});
