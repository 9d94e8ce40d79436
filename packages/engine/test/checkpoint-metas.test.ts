/** What a checkpoint's rows come with says what is in their texts, so a state may be folded from either. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkpointRows } from "../src/decide/checkpoint.ts";
import { applyRow } from "../src/run/fold.ts";
import { readStepRow } from "../src/run/log-rows.ts";
import { op, sleeping, World } from "./world.ts";

const named = fc.record(
  {
    displayName: fc.string({ unit: "binary" }),
    ordinal: fc.constantFrom(0, -0, 7),
    position: fc.nat(3),
    attempt: fc.nat(2),
    undefinedResult: fc.constant(true),
    timing: fc.record({ a: fc.double({ noNaN: true }), b: fc.double({ noNaN: true }) }),
    opts: fc.constant({ compensate: true }),
    userland: fc.record({ id: fc.string(), index: fc.nat(2) }),
    data: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const finished = fc
  .record({ name: fc.constantFrom("StepRun", "Step", "StepFailed"), id: fc.constantFrom("a", "b", "c"), more: named })
  .map(({ name, id, more }) => op(name, id, more));

/** A run that waits, so that results may say where they belong. */
function waiting(): World {
  const world = new World();
  world.decide({ type: "parked", ops: [sleeping("s", "1h")] });
  return world;
}

test("the fold comes to the same state with what is known of a row and with its text alone", () => {
  fc.assert(
    fc.property(fc.array(finished, { maxLength: 5 }), (ops) => {
      const [told, read] = [waiting().state, waiting().state];
      const made = checkpointRows(told, ops, waiting().context());
      if (!made.ok) throw new Error(made.message);
      for (const [index, row] of made.rows.entries()) {
        if (row.kind !== "STEP_COMPLETED" && row.kind !== "STEP_FAILED") throw new Error(`There is a ${row.kind}.`);
        const meta = made.metas[index];
        // As the fold needs it: texts have neither infinite numbers nor a zero below zero.
        const { startedMs: _, durationMs: __, ...known } = JSON.parse(JSON.stringify(meta)) as Record<string, unknown>;
        expect(readStepRow(row.kind, row.dataJson).meta).toMatchObject(known);
        applyRow(told, row, 5, meta);
        applyRow(read, row, 5);
      }
      expect(told).toEqual(read);
      expect([...told.memo.entries()]).toEqual([...read.memo.entries()]);
    }),
  );
});
