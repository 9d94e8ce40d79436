/**
 * `FunctionTest`, which users create in tests. It reads the options; `played-run.ts` makes the runs.
 */
import { isRecord } from "@holdfast/protocol";
import type { HoldfastFunction } from "../functions/define-function.ts";
import { checkKnown, definitionOf, HoldfastError, invalidOption } from "../sdk.ts";
import type { OutputOf } from "../steps/references.ts";
import type { StepResult } from "../steps/step-result.ts";
import { runForTest } from "./played-run.ts";
import type { FunctionTestOptions, TestRun, TestStep } from "./test-types.ts";
import { unusedText } from "./unused-answers.ts";

/**
 * Runs a function in memory: without a gateway, without a database, and time passes at once. The code that runs it is what
 * runs it in an app, and the code that decides how the run goes on is a gateway's.
 *
 *     const test = new FunctionTest(order, { event: { name: "shop/order.placed", data: { card: "4242" } } });
 *     const { output, state } = await test.run();
 */
export class FunctionTest<const Fn extends HoldfastFunction> {
  readonly #fn: Fn;
  readonly #options: FunctionTestOptions;

  constructor(fn: Fn, options: FunctionTestOptions = {}) {
    if (definitionOf(fn) === undefined) {
      throw new HoldfastError("OPTION_INVALID", "FunctionTest needs a function created by createFunction().");
    }
    checkOptions(options);
    this.#fn = fn;
    this.#options = options;
  }

  /**
   * Runs to the end, each time anew. Sleeps are skipped; waits that `steps` does not answer time out.
   * @param more added to the options, answers before those of the constructor
   * @throws HoldfastError `TEST_STEP_UNANSWERED`; with `isolation: "real"` also `ISOLATE_MODULE_INVALID`, `ISOLATE_CONNECT`,
   * `ISOLATE_LISTEN`, `ISOLATE_THREAD_LOST`: a thread cannot load a module
   */
  async run(more: FunctionTestOptions = {}): Promise<TestRun<TestOutput<Fn>>> {
    return (await runForTest<TestOutput<Fn>>(this.#fn, this.#merged(more), undefined)).run;
  }

  /**
   * Runs until the step has its result, or, for a step that the gateway does, until it has begun.
   * @throws HoldfastError `TEST_STEP_UNANSWERED`; `NOT_FOUND` when the run ends without that step
   */
  async runUntil(
    stepId: string,
    more: FunctionTestOptions = {},
  ): Promise<TestRun<TestOutput<Fn>> & { readonly step: TestStep }> {
    const { run } = await runForTest<TestOutput<Fn>>(this.#fn, this.#merged(more), stepId);
    const step = run.steps.find((each) => each.id === stepId);
    if (step !== undefined) return { ...run, step };
    const met = run.steps.map((each) => `"${each.id}"`).join(", ") || "none";
    throw new HoldfastError(
      "NOT_FOUND",
      `The run ended as ${run.status} without the step "${stepId}"; its steps were ${met}.${unusedText(run.unusedAnswers)}`,
    );
  }

  #merged(more: FunctionTestOptions): FunctionTestOptions {
    checkOptions(more);
    return { ...this.#options, ...more, steps: [...(this.#options.steps ?? []), ...(more.steps ?? [])] };
  }
}

const KNOWN = ["event", "events", "steps", "functions", "replay", "isolation", "nowMs"];

/** @throws HoldfastError `OPTION_INVALID` */
function checkOptions(options: FunctionTestOptions): void {
  checkKnown("FunctionTest", options, KNOWN);
  const { event, events, steps = [], functions = [], isolation = "inline" } = options;
  const refuse = (name: string, what: string): never => {
    throw invalidOption(`the option \`${name}\` of FunctionTest`, `must be ${what}.`);
  };
  const isEvent = (each: unknown): boolean => isRecord(each) && typeof each.name === "string" && each.name !== "";
  if (event !== undefined && !isEvent(event)) refuse("event", "an event: { name, data }");
  if (events !== undefined && !(Array.isArray(events) && events.length > 0 && events.every(isEvent))) {
    refuse("events", "an array of one or more events: { name, data }");
  }
  const isAnswer = (each: unknown): boolean =>
    isRecord(each) && typeof each.id === "string" && typeof each.handler === "function";
  if (!Array.isArray(steps) || !steps.every(isAnswer)) refuse("steps", "an array of { id, handler }");
  if (isolation !== "inline" && isolation !== "real") refuse("isolation", '"inline" or "real"');
  const isFunction = (each: unknown): boolean => definitionOf(each) !== undefined;
  if (!Array.isArray(functions) || !functions.every(isFunction))
    refuse("functions", "an array of functions created by createFunction()");
}

/** The function's result as JSON has it. */
export type TestOutput<Fn> = StepResult<Awaited<OutputOf<Fn>>>;
