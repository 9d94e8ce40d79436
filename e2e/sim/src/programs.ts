/** Random handlers: what one does step by step, how it is played, and what must come of it. */
import { DEFAULT_QUEUE } from "../../../packages/protocol/src/index.ts";
import type { StepTools } from "../../../packages/sdk/src/steps/step-types.ts";
import { mayBeStopped, NO_OPTIONS, type PlannedOptions, randomOptions, STAY_MS } from "./planned-options.ts";
import type { Dice } from "./random.ts";

/** The app that has the random functions. */
export const APP_ID = "sim";

/** A random function: what its handler does, step by step. */
export type Program =
  | {
      readonly type: "run";
      readonly failures: number;
      readonly workMs: number;
      readonly blockMs: number;
      /** It is undone when the function fails permanently. */
      readonly compensates: boolean;
      /** Its attempts may take so long. Those that fail do so by taking longer. */
      readonly timeout?: StepTimeout;
      /** Its body runs in a thread of the pool. */
      readonly isIsolated?: boolean;
    }
  | { readonly type: "undefined" }
  /** Runs an earlier function of the app and waits for its end. */
  | { readonly type: "invoke"; readonly of: number }
  /** Waits for an event that another part of this run may send in time. */
  | { readonly type: "wait"; readonly ms: number }
  | { readonly type: "send" }
  | { readonly type: "sleep"; readonly ms: number }
  /** Waits for what someone outside sends until it has come. */
  | { readonly type: "hear"; readonly by: HearBy }
  /** While it does something else an event comes, or has not come yet when it then waits for it. */
  | { readonly type: "foretold"; readonly meanwhile: Program }
  /** Fails until no attempt is left, and is caught. */
  | { readonly type: "caught"; readonly workMs: number }
  | { readonly type: "sequence"; readonly parts: readonly Program[] }
  | { readonly type: "parallel"; readonly parts: readonly Program[] }
  | { readonly type: "race"; readonly parts: readonly Program[] }
  | { readonly type: "loop"; readonly times: number; readonly body: Program };

export interface StepTimeout {
  readonly ms: number;
  /** So long after its time a body that takes too long gives a result; null = it ends when its signal fires. */
  readonly lateMs: number | null;
}

/** `early`: an event that comes whether the run waits for it yet or not. */
export type HearBy = "signal" | "event" | "early";

export interface FunctionPlan {
  readonly id: string;
  /** "" = the default one. */
  readonly environment: string;
  readonly retries: number;
  readonly root: Program;
  /** The handler throws at its end, permanently. */
  readonly fails: boolean;
  /** Between its last step and its end the handler does something of its own for so long, while steps that lost a race go on. */
  readonly thinksMs: number;
  /** After so long the handler throws, whatever its steps are doing, and is tried again; null = it does not. */
  readonly stumblesMs: number | null;
  readonly options: PlannedOptions;
  /** Every run that fails starts it. */
  readonly hearsOfFailures: boolean;
  /** It cannot end before its deadline or its timeout. */
  readonly stays: boolean;
  readonly queue: string;
  /** So often it goes on as a new run before it ends. */
  readonly continues: number;
}

/** Where a body runs. */
export interface Place {
  /** Asked before everything that others can see: false = it was killed. */
  acts(): boolean;
  /** Takes so long, in virtual time. */
  work(ms: number): Promise<void>;
  /** Holds the event loop for so long. */
  block(ms: number): Promise<void>;
}

/** A step's body as it is played. `begin` = it starts now. */
export interface Stage extends Place {
  readonly step: StepTools;
  readonly runId: string;
  /** `step.invoke` of the app's function with that number. */
  invoke(id: string, of: number): Promise<unknown>;
  begin(key: string): number;
  /**
   * The handler asks for a step: `ask` gets the `begin` of its body, which knows what the handler had been given by then.
   */
  asks<T>(ask: (begin: (key: string, place?: Place) => number) => Promise<T>): Promise<T>;
  /** The body as it runs in a pool thread, with the key as its argument; absent: there is no pool. */
  isolate?: ((key: string, body: (place: Place) => Promise<unknown>) => (key: string) => Promise<unknown>) | undefined;
  /** A step is undone. */
  undo(key: string): void;
  /** The part of a race with this number was first. */
  won(key: string, part: number): void;
  /** From now on someone tries to send the run something: what it is called, and what it says. */
  hears(by: HearBy, key: string): { readonly name: string; readonly says: string };
  /** Settles when the signal of the step that runs fires. */
  unwanted(): Promise<void>;
}

interface Source {
  readonly dice: Dice;
  readonly retries: number;
  readonly index: number;
}

const MAX_DEPTH = 3;
const TIMEOUTS_RATE = 0.3;
/** By how much a timer may be late here. */
const LATE_TIMER_MS = 20;

/** `index` = its number in the app; it may invoke those before it. */
export function randomFunction(dice: Dice, index: number, mayBlock: boolean): FunctionPlan {
  const retries = dice.between(1, 3);
  const count = dice.between(1, 4);
  const parts = Array.from({ length: count }, () => randomProgram({ dice, retries, index }, 1, true));
  const type = dice.chance(0.8) ? "sequence" : "parallel";
  const root: Program = { type, parts };
  const fails = dice.chance(0.1);
  return {
    id: `f${index}`,
    environment: "",
    retries,
    root: mayBlock ? root : withoutBlocks(root),
    fails,
    thinksMs: 0,
    stumblesMs: null,
    options: NO_OPTIONS,
    hearsOfFailures: false,
    stays: false,
    queue: DEFAULT_QUEUE,
    continues: 0,
  };
}

/** The same function with more that the engine has to see to. */
export function withOptions(plan: FunctionPlan, dice: Dice): FunctionPlan {
  const options = randomOptions(dice);
  const parts: Program[] = [plan.root];
  if (dice.chance(0.4)) parts.push({ type: "hear", by: dice.pick(["signal", "event"]) });
  const stays = mayBeStopped(options) && options.flowControl.type !== "cron" && dice.chance(0.4);
  if (stays) parts.push({ type: "sleep", ms: STAY_MS });
  // Schedules start more runs than events do: each is short.
  const short: Program = { type: "run", failures: 0, workMs: 5, blockMs: 0, compensates: true };
  const root: Program = options.flowControl.type === "cron" ? short : { type: "sequence", parts };
  return { ...plan, root, fails: plan.fails || (!stays && dice.chance(0.15)), options, stays };
}

/** The same function with a handler that does something of its own beside its steps. */
export function withThoughts(plan: FunctionPlan, dice: Dice): FunctionPlan {
  const thinksMs = dice.chance(0.3) ? dice.within(0, dice.pick([2, 60])) : 0;
  const stumblesMs = dice.chance(0.15) ? dice.within(0, dice.pick([5, 60, 500])) : null;
  // On the plain protocol a step that begins in the attempt after it has one attempt less.
  return { ...plan, thinksMs, stumblesMs, retries: plan.retries + (stumblesMs === null ? 0 : 1) };
}

/** The same function with steps that have a timeout. */
export function withTimeouts(plan: FunctionPlan, dice: Dice): FunctionPlan {
  return dice.chance(TIMEOUTS_RATE) ? { ...plan, root: timed(plan.root, dice) } : plan;
}

/** The same function, which then waits for an event that may have come before. */
export function withEarlyEvent(plan: FunctionPlan, dice: Dice): FunctionPlan {
  if (plan.options.flowControl.type === "cron" || dice.chance(0.3)) return plan;
  return { ...plan, root: { type: "foretold", meanwhile: plan.root } };
}

/** The same function, after a race between waits and bodies that take about as long, and after steps that follow from it. */
export function withRace(plan: FunctionPlan, dice: Dice): FunctionPlan {
  if (plan.options.flowControl.type === "cron" || dice.chance(0.2)) return plan;
  const run = (mostMs: number): Program => ({
    type: "run",
    failures: dice.chance(0.3) ? 1 : 0,
    workMs: dice.within(0, mostMs),
    blockMs: 0,
    compensates: false,
  });
  const racer = (): Program => {
    const roll = dice.random();
    if (roll < 0.35) return { type: "sleep", ms: dice.between(1, dice.pick([60, 600])) };
    if (roll < 0.5) return { type: "wait", ms: dice.between(1, dice.pick([60, 600])) };
    return run(dice.pick([60, 600]));
  };
  const parts = Array.from({ length: dice.between(2, 4) }, () => {
    const one = racer();
    return dice.chance(0.3) ? ({ type: "sequence", parts: [one, racer()] } as const) : one;
  });
  const after = Array.from({ length: dice.between(1, 3) }, () => run(50));
  return { ...plan, root: { type: "sequence", parts: [{ type: "race", parts }, ...after, plan.root] } };
}

/** The same function, which goes on as a new run some times. */
export function withChain(plan: FunctionPlan, dice: Dice): FunctionPlan {
  const isHeldBack = plan.options.flowControl.type !== "none";
  return plan.stays || isHeldBack || dice.chance(0.3) ? plan : { ...plan, continues: dice.between(1, 3) };
}

/** The same function, whose bodies run in threads of a pool here and there. */
export function withIsolatedBodies(plan: FunctionPlan, dice: Dice): FunctionPlan {
  return { ...plan, root: someIsolated(plan.root, dice) };
}

function someIsolated(node: Program, dice: Dice): Program {
  if (node.type === "loop") return { ...node, body: someIsolated(node.body, dice) };
  if (node.type === "foretold") return { ...node, meanwhile: someIsolated(node.meanwhile, dice) };
  if ("parts" in node) return { ...node, parts: node.parts.map((part) => someIsolated(part, dice)) };
  // A thread that hangs would pass a timeout, too, which is no fault of its step.
  if (node.type !== "run" || node.timeout !== undefined) return node;
  return dice.chance(0.6) ? { ...node, isIsolated: true } : node;
}

function timed(node: Program, dice: Dice): Program {
  if (node.type === "loop") return { ...node, body: timed(node.body, dice) };
  if ("parts" in node) return { ...node, parts: node.parts.map((part) => timed(part, dice)) };
  // What blocks keeps its timeout from being noticed.
  if (node.type !== "run" || node.blockMs > 0 || dice.chance(0.2)) return node;
  const ms = Math.ceil(node.workMs + dice.within(100, 1_000));
  return { ...node, timeout: { ms, lateMs: dice.chance(0.7) ? dice.within(1, dice.pick([20, 2_000])) : null } };
}

function withoutBlocks(node: Program): Program {
  if (node.type === "run") return { ...node, blockMs: 0 };
  if (node.type === "loop") return { ...node, body: withoutBlocks(node.body) };
  return "parts" in node ? { ...node, parts: node.parts.map(withoutBlocks) } : node;
}

/** No race within a loop: who loses one round meets the ids of the next, in an order that is the author's own doing. */
function randomProgram(from: Source, depth: number, mayRace: boolean): Program {
  const { dice, retries, index } = from;
  const roll = dice.random();
  const parts = (): Program[] =>
    Array.from({ length: dice.between(1, 3) }, () => randomProgram(from, depth + 1, mayRace));
  const workMs = (): number => (dice.chance(0.4) ? 0 : dice.chance(0.85) ? dice.within(0, 50) : dice.within(0, 2000));
  if (depth < MAX_DEPTH) {
    if (roll < 0.12) return { type: "sequence", parts: parts() };
    if (roll < 0.28) return { type: "parallel", parts: parts() };
    if (roll < 0.36 && mayRace) return { type: "race", parts: parts() };
    if (roll < 0.44) {
      return { type: "loop", times: dice.between(1, 3), body: randomProgram(from, depth + 1, false) };
    }
  }
  if (roll < 0.56) return { type: "sleep", ms: dice.chance(0.8) ? dice.between(1, 700) : dice.between(1, 3000) };
  if (roll < 0.58) return { type: "undefined" };
  if (roll < 0.61 && index > 0) return { type: "invoke", of: dice.between(0, index - 1) };
  if (roll < 0.63) return dice.chance(0.5) ? { type: "wait", ms: dice.between(1, 3000) } : { type: "send" };
  if (roll < 0.66) return { type: "caught", workMs: workMs() };
  const failures = dice.chance(0.25) ? dice.between(1, retries) : 0;
  const blockMs = dice.chance(0.05) ? dice.within(0, 3000) : 0;
  return { type: "run", failures, workMs: workMs(), blockMs, compensates: dice.chance(0.3) };
}

/** Plays a program. `path` is unique per place and names the step; `key` is unique per place and round of loops. */
export async function play(node: Program, stage: Stage, path: string, key: string): Promise<unknown> {
  const { step } = stage;
  switch (node.type) {
    case "run":
      return stage.asks((begin) => {
        const body = async (place: Place): Promise<unknown> => {
          const count = begin(key, place);
          if (node.timeout !== undefined && count <= node.failures) return tooLate(stage, node.timeout);
          if (node.blockMs > 0) await place.block(node.blockMs);
          if (node.workMs > 0) await place.work(node.workMs);
          if (count <= node.failures) throw new Error(`${key} fails`);
          return key;
        };
        const options = {
          ...(node.compensates ? { compensate: () => stage.undo(undoOf(key)) } : {}),
          ...(node.timeout === undefined ? {} : { timeout: node.timeout.ms }),
        };
        const isolated = node.isIsolated ? stage.isolate?.(key, body) : undefined;
        return isolated
          ? step.run({ id: path, ...options }, isolated, key)
          : step.run(path, () => body(stage), options);
      });
    case "invoke":
      try {
        return await stage.invoke(path, node.of);
      } catch {
        return "its end was caught";
      }
    case "wait":
      await step.waitForEvent(path, { event: NEWS, timeout: node.ms, if: "event.data.from == async.data.to" });
      return "waited";
    case "send":
      await step.sendEvent(path, { name: NEWS, data: { to: "a client" } });
      return "sent";
    case "hear": {
      const { name, says } = stage.hears(node.by, key);
      const options = { timeout: HEAR_TIMEOUT_MS } as const;
      const got =
        node.by === "signal"
          ? await step.waitForSignal<string>(path, { ...options, signal: name })
          : await step.waitForEvent(path, { ...options, event: SAID, if: `async.data.to == "${name}"` });
      return got === null ? "nothing was heard" : heardOf(key, got.data, says);
    }
    case "foretold": {
      const { name, says } = stage.hears("early", key);
      const value = await play(node.meanwhile, stage, `${path}.0`, `${key}.0`);
      const wait = { event: SAID, timeout: HEAR_TIMEOUT_MS, since: "run", if: `async.data.to == "${name}"` } as const;
      const got = await step.waitForEvent(path, wait);
      return [value, got === null ? "nothing was heard" : heardOf(key, got.data, says)];
    }
    case "undefined":
      // In the plain protocol it comes back as null after a replay.
      return (await stage.asks((begin) => step.run(path, () => void begin(key)))) == null ? "nothing" : "?";
    case "sleep":
      await step.sleep(path, node.ms);
      return "slept";
    case "caught":
      try {
        return await stage.asks((begin) =>
          step.run(path, async () => {
            begin(key);
            if (node.workMs > 0) await stage.work(node.workMs);
            throw new TypeError("always");
          }),
        );
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
      const racer = (part: Program, i: number): Promise<number> =>
        play(part, stage, `${path}.${i}`, `${key}.${i}`).then(() => i);
      stage.won(key, await Promise.race(node.parts.map(racer)));
      return "raced";
    }
    case "loop": {
      const values: unknown[] = [];
      for (let i = 0; i < node.times; i += 1) values.push(await play(node.body, stage, path, `${key}/${i}`));
      return values;
    }
  }
}

async function tooLate(stage: Stage, { ms, lateMs }: StepTimeout): Promise<string> {
  if (lateMs === null) {
    // The signal fires at a deadline, too, when a result would still count.
    await stage.unwanted();
    throw new Error("unwanted");
  }
  await stage.work(ms + lateMs + LATE_TIMER_MS);
  return "a result that came too late";
}

/** An event that no function is triggered by. */
const NEWS = "news";
/** What one run waits for is sent to it alone. */
export const SAID = "said";
const HEAR_TIMEOUT_MS = 600_000;

const heardOf = (key: string, data: unknown, says: string): string => {
  const text = typeof data === "string" ? data : (data as { says?: string }).says;
  return text === says ? `heard ${key}` : `heard something else: ${text}`;
};

/** With what the keys of a function's effects and results begin: they differ where only the environment does. */
export const rootKey = ({ environment }: FunctionPlan): string => `${environment}p`;

/** How the undoing of a step is called among the effects. */
export const undoOf = (key: string): string => `${key} undone`;

/** Results of the steps that are undone when the function fails, where they finished. */
export function compensated(node: Program, key: string): readonly string[] {
  switch (node.type) {
    case "run":
      return node.compensates ? [key] : [];
    case "loop":
      return Array.from({ length: node.times }, (_, i) => compensated(node.body, `${key}/${i}`)).flat();
    case "foretold":
      return compensated(node.meanwhile, `${key}.0`);
    default:
      return "parts" in node ? node.parts.flatMap((part, i) => compensated(part, `${key}.${i}`)) : [];
  }
}

export function invokes(node: Program): boolean {
  if (node.type === "loop") return invokes(node.body);
  if (node.type === "foretold") return invokes(node.meanwhile);
  return node.type === "invoke" || ("parts" in node && node.parts.some(invokes));
}

/** Whether it waits for runs that may end otherwise than their function says. */
export function invokesStoppable(node: Program, functions: readonly FunctionPlan[]): boolean {
  if (node.type === "loop") return invokesStoppable(node.body, functions);
  if (node.type === "foretold") return invokesStoppable(node.meanwhile, functions);
  if (node.type !== "invoke") return "parts" in node && node.parts.some((part) => invokesStoppable(part, functions));
  const child = functions[node.of];
  return child !== undefined && (mayBeStopped(child.options) || invokesStoppable(child.root, functions));
}

/** What a program gives, whatever happens around it. */
export function resultOf(node: Program, functions: readonly FunctionPlan[], key: string): unknown {
  switch (node.type) {
    case "run":
      return key;
    case "invoke": {
      const child = functions[node.of];
      return child && !child.fails ? resultOf(child.root, functions, rootKey(child)) : "its end was caught";
    }
    case "wait":
      return "waited";
    case "send":
      return "sent";
    case "undefined":
      return "nothing";
    case "hear":
      return `heard ${key}`;
    case "foretold":
      return [resultOf(node.meanwhile, functions, `${key}.0`), `heard ${key}`];
    case "sleep":
      return "slept";
    case "caught":
      return "caught TypeError";
    case "sequence":
    case "parallel":
      return node.parts.map((part, i) => resultOf(part, functions, `${key}.${i}`));
    case "race":
      return "raced";
    case "loop":
      return Array.from({ length: node.times }, (_, i) => resultOf(node.body, functions, `${key}/${i}`));
  }
}
