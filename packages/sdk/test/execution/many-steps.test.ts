import { WIRE_LIMITS } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { FunctionTest } from "../../src/function-test/function-test.ts";
import { client, engineFor } from "./support.ts";

const { maxStepsPerRun: MAX } = WIRE_LIMITS;
const rows = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

test.each([true, false])(
  "steps side by side beyond the limit of a run fail it before any begins, in place: %s",
  async (inPlace) => {
    let begun = 0;
    const engine = engineFor(
      ({ step }) => Promise.all(rows(6 * MAX).map((row) => step.run(`row ${row}`, () => (begun += 1)))),
      { inPlace },
    );
    const message = `The run has more than ${MAX} steps: step "row ${MAX}" was not started. Split the work over several runs.`;
    expect(await engine.run()).toMatchObject({ status: "failed", value: { code: "RUN_TOO_LARGE", message } });
    expect(begun).toBe(0);
  },
);

test("side by side with compensations none beyond the limit begins, those that have are undone, and it is soon over", async () => {
  const taken = new Set<number>();
  let calls = 0;
  const fn = client.createFunction({ id: "wide", triggers: [], retries: 0 }, ({ step }) =>
    Promise.all(
      rows(20 * MAX).map((row) => {
        calls += 1;
        return step.run(`row ${row}`, () => void taken.add(row), { compensate: () => void taken.delete(row) });
      }),
    ),
  );
  const run = await new FunctionTest(fn).run();
  expect(run.error).toMatchObject({ code: "RUN_TOO_LARGE", compensation: { failed: [], notRun: [] } });
  expect(run.steps.filter(({ status }) => status !== "completed")).toEqual([]);
  expect([taken.size, run.passes, calls]).toEqual([0, 2, 40 * MAX]);
});

test("one after the other, the step beyond the limit does not begin, and what has ended is undone", async () => {
  const taken = new Set<number>();
  const fn = client.createFunction({ id: "many", triggers: [] }, async ({ step }) => {
    for (const row of rows(MAX + 1)) {
      await step.run(`row ${row}`, () => void taken.add(row), { compensate: () => void taken.delete(row) });
    }
  });
  const run = await new FunctionTest(fn).run();
  expect(run.error).toMatchObject({ code: "RUN_TOO_LARGE", compensation: { failed: [], notRun: [] } });
  expect(run.steps).toHaveLength(2 * MAX);
  expect(taken.size).toBe(0);
});

test("as many steps as a run may have are run and undone", async () => {
  const taken = new Set<number>();
  const fn = client.createFunction({ id: "most", triggers: [], retries: 0 }, async ({ step }) => {
    const take = (row: number) =>
      step.run(`row ${row}`, () => void taken.add(row), { compensate: () => void taken.delete(row) });
    await Promise.all(rows(MAX).map(take));
    throw new Error(`${taken.size} taken`);
  });
  const run = await new FunctionTest(fn).run();
  expect(run.error).toMatchObject({ message: `${MAX} taken`, compensation: { failed: [], notRun: [] } });
  expect(taken.size).toBe(0);
});
