import type { StepTools } from "../../../packages/sdk/src/steps/step-types.ts";
import type { Dice } from "./random.ts";

/** A random function: what its handler does, step by step. */
export type Program =
  | { readonly type: "run"; readonly failures: number; readonly workMs: number; readonly blockMs: number }
  | { readonly type: "undefined" }
  | { readonly type: "sleep"; readonly ms: number }
  /** Fails until no attempt is left, and is caught. */
  | { readonly type: "caught"; readonly workMs: number }
  | { readonly type: "sequence"; readonly parts: readonly Program[] }
  | { readonly type: "parallel"; readonly parts: readonly Program[] }
  | { readonly type: "race"; readonly parts: readonly Program[] }
  | { readonly type: "loop"; readonly times: number; readonly body: Program };

export interface FunctionPlan {
  readonly id: string;
  readonly retries: number;
  readonly root: Program;
  /** The handler throws at its end, for good. */
  readonly fails: boolean;
}

/** A step's body as it is played. `begin` = it starts now. */
export interface Stage {
  readonly step: StepTools;
  begin(key: string): number;
  /** Takes so long, in virtual time. */
  work(ms: number): Promise<void>;
  /** Holds the event loop for so long. */
  block(ms: number): Promise<void>;
}

const MAX_DEPTH = 3;

export function randomFunction(dice: Dice, id: string, mayBlock: boolean): FunctionPlan {
  const retries = dice.between(1, 3);
  const count = dice.between(1, 4);
  const parts = Array.from({ length: count }, () => randomProgram(dice, retries, 1, true));
  const type = dice.chance(0.8) ? "sequence" : "parallel";
  const root: Program = { type, parts };
  return { id, retries, root: mayBlock ? root : withoutBlocks(root), fails: dice.chance(0.1) };
}

function withoutBlocks(node: Program): Program {
  if (node.type === "run") return { ...node, blockMs: 0 };
  if (node.type === "loop") return { ...node, body: withoutBlocks(node.body) };
  return "parts" in node ? { ...node, parts: node.parts.map(withoutBlocks) } : node;
}

/** No race within a loop: who loses one round meets the ids of the next, in an order that is the author's own doing. */
function randomProgram(dice: Dice, retries: number, depth: number, mayRace: boolean): Program {
  const roll = dice.random();
  const parts = (): Program[] =>
    Array.from({ length: dice.between(1, 3) }, () => randomProgram(dice, retries, depth + 1, mayRace));
  const workMs = (): number => (dice.chance(0.4) ? 0 : dice.chance(0.8) ? dice.within(0, 50) : dice.within(0, 3000));
  if (depth < MAX_DEPTH) {
    if (roll < 0.12) return { type: "sequence", parts: parts() };
    if (roll < 0.28) return { type: "parallel", parts: parts() };
    if (roll < 0.36 && mayRace) return { type: "race", parts: parts() };
    if (roll < 0.44) {
      return { type: "loop", times: dice.between(1, 3), body: randomProgram(dice, retries, depth + 1, false) };
    }
  }
  if (roll < 0.56) return { type: "sleep", ms: dice.chance(0.7) ? dice.between(1, 1500) : dice.between(1, 6000) };
  if (roll < 0.6) return { type: "undefined" };
  if (roll < 0.66) return { type: "caught", workMs: workMs() };
  const failures = dice.chance(0.25) ? dice.between(1, retries) : 0;
  return { type: "run", failures, workMs: workMs(), blockMs: dice.chance(0.05) ? dice.within(0, 4000) : 0 };
}

/** Plays a program. `path` is unique per place and names the step; `key` is unique per place and round of loops. */
export async function play(node: Program, stage: Stage, path = "p", key = "p"): Promise<unknown> {
  const { step } = stage;
  switch (node.type) {
    case "run":
      return step.run(path, async () => {
        const count = stage.begin(key);
        if (node.blockMs > 0) await stage.block(node.blockMs);
        if (node.workMs > 0) await stage.work(node.workMs);
        if (count <= node.failures) throw new Error(`${key} fails`);
        return key;
      });
    case "undefined":
      // In the plain protocol it comes back as null after a replay.
      return (await step.run(path, () => void stage.begin(key))) == null ? "nothing" : "?";
    case "sleep":
      await step.sleep(path, node.ms);
      return "slept";
    case "caught":
      try {
        return await step.run(path, async () => {
          stage.begin(key);
          if (node.workMs > 0) await stage.work(node.workMs);
          throw new TypeError("always");
        });
      } catch (error) {
        return `caught ${(error as Error).name}`;
      }
    case "sequence": {
      const values: unknown[] = [];
      for (const [i, part] of node.parts.entries()) {
        values.push(await play(part, stage, `${path}.${i}`, `${key}.${i}`));
      }
      return values;
    }
    case "parallel":
      return Promise.all(node.parts.map((part, i) => play(part, stage, `${path}.${i}`, `${key}.${i}`)));
    case "race": {
      await Promise.race(node.parts.map((part, i) => play(part, stage, `${path}.${i}`, `${key}.${i}`)));
      return "raced";
    }
    case "loop": {
      const values: unknown[] = [];
      for (let i = 0; i < node.times; i += 1) values.push(await play(node.body, stage, path, `${key}/${i}`));
      return values;
    }
  }
}

/** What a program gives, whatever happens around it. */
export function resultOf(node: Program, key = "p"): unknown {
  switch (node.type) {
    case "run":
      return key;
    case "undefined":
      return "nothing";
    case "sleep":
      return "slept";
    case "caught":
      return "caught TypeError";
    case "sequence":
    case "parallel":
      return node.parts.map((part, i) => resultOf(part, `${key}.${i}`));
    case "race":
      return "raced";
    case "loop":
      return Array.from({ length: node.times }, (_, i) => resultOf(node.body, `${key}/${i}`));
  }
}
