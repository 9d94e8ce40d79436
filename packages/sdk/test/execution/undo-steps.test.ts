/** Calls that the gateway makes, undone by a step of their own, as graphs do it. */
import type { Op } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";
import { NonRetriableError } from "../../src/steps/errors.ts";
import type { StepTools } from "../../src/steps/step-types.ts";
import { type Engine, NEVER } from "./engine.ts";
import { engineFor, hash } from "./support.ts";

const named = (engine: Engine, id: string): Op[] =>
  [...engine.checkpoints, ...engine.replies].flat().filter((op) => op.userland?.id === id);

const UNDO_STEP = Symbol.for("holdfast.undoStep");

/** As graphs do it: a step of its own carries what undoes a call that the gateway makes. */
async function undoable<T>(step: StepTools, id: string, call: (more: object) => Promise<T>, undo: () => unknown) {
  const more = { [UNDO_STEP]: `${id}~undo` };
  const result = await call(more);
  await step.run({ id: `${id}~undo`, compensate: () => void undo(), ...more }, () => null);
  return result;
}

describe.each([
  { inPlace: true, looksAhead: false },
  { inPlace: true, looksAhead: true },
  { inPlace: false, looksAhead: false },
])("Calls that the gateway makes, %o", (mode) => {
  const invoke = (step: StepTools, id: string, undo: () => unknown): Promise<unknown> =>
    undoable(step, id, (more) => step.invoke(id, { function: { slug: "app-child" }, data: {}, ...more }), undo);
  const request = (step: StepTools, id: string, undo: () => unknown): Promise<unknown> =>
    undoable(step, id, async (more) => (await step.fetch(id, "http://localhost/", more)).text(), undo);

  test("are undone where they end while another step fails the function", async () => {
    const undone: string[] = [];
    const undo = (id: string) => () => undone.push(id);
    const engine = engineFor(
      ({ step }) =>
        Promise.all([
          invoke(step, "a", undo("a")),
          request(step, "r", undo("r")),
          step.run("x", () => 1, { compensate: undo("x") }),
          step.run("fails", async () => {
            await engine.end(hash("a"), { data: { n: 1 } });
            await engine.end(hash("r"), { data: { status_code: 200, body: "ok" } });
            throw new NonRetriableError("no");
          }),
        ]),
      { ...mode, resume: () => NEVER },
    );
    const end = await engine.run();
    expect(end).toMatchObject({ status: "failed", value: { message: "no" } });
    const { compensation } = end.value as { compensation: Record<string, string[]> };
    expect({ ...compensation, undone: compensation.undone?.toSorted() }).toEqual({
      undone: ["a~undo", "r~undo", "x"],
      failed: [],
      notRun: [],
    });
    expect(undone.toSorted()).toEqual(["a", "r", "x"]);
    expect(named(engine, "a~undo").at(-1)).toMatchObject({ op: "StepRun", opts: { compensate: true } });
  });

  test("are undone where nothing else is", async () => {
    let undone = 0;
    const engine = engineFor(
      ({ step }) =>
        Promise.all([
          invoke(step, "a", () => (undone += 1)),
          step.run("fails", async () => {
            await engine.end(hash("a"), { data: { n: 1 } });
            throw new NonRetriableError("no");
          }),
        ]),
      { ...mode, resume: () => NEVER },
    );
    const compensation = { undone: ["a~undo"], failed: [], notRun: [] };
    expect(await engine.run()).toMatchObject({ status: "failed", value: { message: "no", compensation } });
    expect(undone).toBe(1);
  });

  test("are not undone where they have not ended, or have failed", async () => {
    let undone = 0;
    const engine = engineFor(
      ({ step }) =>
        Promise.all([
          invoke(step, "open", () => (undone += 1)),
          invoke(step, "failed", () => (undone += 1)),
          step.run("fails", async () => {
            await engine.end(hash("failed"), { error: { name: "Error", message: "of the child" } });
            throw new NonRetriableError("no");
          }),
        ]),
      { ...mode, resume: () => NEVER },
    );
    expect(await engine.run()).toMatchObject({ status: "failed" });
    expect(undone).toBe(0);
  });
});

test("a run that began to undo its steps before undo steps ran then undoes what it has on record", async () => {
  const undone: string[] = [];
  const engine = engineFor(async ({ step }) => {
    for (const id of ["a", "b"]) {
      await undoable(
        step,
        id,
        (more) => step.invoke(id, { function: { slug: "app-child" }, data: {}, ...more }),
        () => undone.push(id),
      );
    }
  });
  for (const id of ["a", "a~undo", "b"]) engine.memo.set(hash(id), { data: null });
  const failure = { error: { name: "Error", message: "x" }, steps: ["a~undo"] };
  engine.memo.set(hash("holdfast/failure"), { data: failure });
  engine.memo.set(hash("holdfast/compensate:a~undo"), { data: null });
  expect(await engine.run()).toMatchObject({
    value: { compensation: { undone: ["b~undo", "a~undo"], failed: [], notRun: [] } },
  });
  expect(undone).toEqual(["b"]);
});
