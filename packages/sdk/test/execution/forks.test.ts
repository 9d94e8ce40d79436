import { forkOf, resumePlan } from "@holdfast/engine";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import { Holdfast } from "../../src/app/holdfast.ts";
import { currentExecution } from "../../src/execution/current.ts";
import type { StepTools } from "../../src/steps/step-types.ts";
import { Engine } from "./engine.ts";
import { silent, unfetched } from "./support.ts";

/** Random functions that end, and are forked from each of their steps: what is kept is not done again. */
type Program =
  | { readonly type: "run"; readonly failures: number; readonly turns: number }
  | { readonly type: "caught" }
  | { readonly type: "sleep" }
  | { readonly type: "sequence" | "parallel"; readonly parts: readonly Program[] }
  | { readonly type: "loop"; readonly times: number; readonly body: Program };

const { program } = fc.letrec<{ program: Program }>((tie) => {
  const parts = fc.array(tie("program"), { minLength: 1, maxLength: 3 });
  return {
    program: fc.oneof(
      { maxDepth: 3, depthSize: "medium", withCrossShrink: true },
      fc.record({ type: fc.constant("run" as const), failures: fc.nat(1), turns: fc.nat(3) }),
      fc.constant({ type: "caught" as const }),
      fc.constant({ type: "sleep" as const }),
      fc.record({ type: fc.constantFrom("sequence" as const, "parallel" as const), parts }),
      fc.record({ type: fc.constant("loop" as const), times: fc.integer({ min: 1, max: 3 }), body: tie("program") }),
    ),
  };
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** How often the body of each step has begun, by the step's hash; and in all, by what the program calls it. */
interface Effects {
  readonly bodies: Map<string, number>;
  readonly failed: Map<string, number>;
}

async function play(node: Program, step: StepTools, effects: Effects, path: string, key: string): Promise<unknown> {
  const begin = (): void => {
    const hash = currentExecution()?.step?.hash ?? "";
    effects.bodies.set(hash, (effects.bodies.get(hash) ?? 0) + 1);
  };
  switch (node.type) {
    case "run":
      return step.run(path, async () => {
        begin();
        for (let i = 0; i < node.turns; i += 1) await turn();
        const failures = effects.failed.get(key) ?? 0;
        effects.failed.set(key, failures + 1);
        if (failures < node.failures) throw new Error(`${key} fails`);
        return key;
      });
    case "caught":
      try {
        return await step.run(path, () => {
          begin();
          throw new TypeError("always");
        });
      } catch {
        return "caught";
      }
    case "sleep":
      await step.sleep(path, "1h");
      return "slept";
    case "sequence": {
      const values: unknown[] = [];
      for (const [i, part] of node.parts.entries())
        values.push(await play(part, step, effects, `${path}.${i}`, `${key}.${i}`));
      return values;
    }
    case "parallel":
      return Promise.all(node.parts.map((part, i) => play(part, step, effects, `${path}.${i}`, `${key}.${i}`)));
    case "loop": {
      const values: unknown[] = [];
      for (let i = 0; i < node.times; i += 1) values.push(await play(node.body, step, effects, path, `${key}/${i}`));
      return values;
    }
  }
}

const newEffects = (): Effects => ({ bodies: new Map(), failed: new Map() });

async function ended(
  root: Program,
  inPlace: boolean,
  kept: Engine["log"] | undefined,
  effects: Effects,
  fails = false,
) {
  const client = new Holdfast({ id: "app", logger: silent, fetch: unfetched, isDev: true });
  const fn = client.createFunction({ id: "f", triggers: [{ event: "test/event" }] }, async ({ step }) => {
    const value = await play(root, step as StepTools, effects, "p", "p");
    if (fails) throw new Error("the handler fails");
    return value;
  });
  const engine = new Engine({ client, fn, inPlace, haste: 1000, ...(kept ? { kept } : {}) });
  return { end: await engine.run(), log: engine.log };
}

const stepsIn = (log: Engine["log"]): string[] => [
  ...new Set(log.flatMap(({ kind, key }) => (kind.startsWith("STEP_") ? [key] : []))),
];

describe.each([true, false])("in place: %s", (inPlace) => {
  test("forked from any step of any program, what is kept is not done again, and the rest comes to the same", async () => {
    await fc.assert(
      fc.asyncProperty(program, async (root) => {
        const first = newEffects();
        const origin = await ended(root, inPlace, undefined, first);
        expect(origin.end.status).toBe("completed");
        for (const key of stepsIn(origin.log)) {
          const fork = forkOf(origin.log, key, null);
          if (!fork.ok) throw new Error(`no fork from ${key}`);
          const effects = newEffects();
          const { end } = await ended(root, inPlace, fork.rows, effects);
          const kept = new Set(fork.rows.map((row) => row.key));
          expect(kept.has(key)).toBe(false);
          expect([...effects.bodies.keys()].filter((hash) => kept.has(hash))).toEqual([]);
          // All others are done, as often as the first time.
          expect(effects.bodies).toEqual(new Map([...first.bodies].filter(([hash]) => !kept.has(hash))));
          expect(end).toEqual(origin.end);
        }
      }),
      { numRuns: runs(150) },
    );
  });

  test("with another result of its step a fork does not begin that step's body", async () => {
    await fc.assert(
      fc.asyncProperty(program, async (root) => {
        const origin = await ended(root, inPlace, undefined, newEffects());
        for (const key of stepsIn(origin.log)) {
          const fork = forkOf(origin.log, key, '"edited"');
          if (!fork.ok) throw new Error(`no fork from ${key}`);
          const effects = newEffects();
          const { end } = await ended(root, inPlace, fork.rows, effects);
          const kept = new Set(fork.rows.map((row) => row.key));
          expect([...effects.bodies.keys()].filter((hash) => kept.has(hash))).toEqual([]);
          expect([kept.has(key), end.status]).toEqual([true, "completed"]);
        }
      }),
      { numRuns: runs(100) },
    );
  });

  test("a run whose handler failed at its end is resumed with nothing but failed steps dropped", async () => {
    await fc.assert(
      fc.asyncProperty(program, async (root) => {
        const { log, end } = await ended(root, inPlace, undefined, newEffects(), true);
        expect(end.status).toBe("failed");
        const plan = resumePlan(log);
        const finished = new Set(log.flatMap(({ kind, key }) => (kind === "STEP_COMPLETED" ? [key] : [])));
        expect(plan.ok && plan.dropped.filter((key) => finished.has(key))).toEqual([]);
      }),
      { numRuns: runs(50) },
    );
  });
});
