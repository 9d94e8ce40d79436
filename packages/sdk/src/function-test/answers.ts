/**
 * What a test says a waiting step comes to: the given answers, by step id. `function-run.ts` asks it whenever a run
 * waits.
 */
import { parseDurationMs, toPlainError } from "@holdfast/core";
import type { StepResult } from "@holdfast/engine";
import { isRecord, type Op } from "@holdfast/protocol";
import { HoldfastError, mockOf } from "../sdk.ts";
import type { StepCall } from "../steps/step-call.ts";
import type { StepAnswer } from "./test-types.ts";
import { unusedText } from "./unused-answers.ts";

/** What a test gives to a step that waits: when, and how the step ends then. */
export interface Answer {
  readonly atMs: number;
  readonly result: StepResult;
}

/** What an invoked function gave, and how long it took. */
export type InvokedRun = (
  slug: string,
  payload: unknown,
  nowMs: number,
) => Promise<{ readonly result: StepResult; readonly elapsedMs: number } | undefined>;

/** The answers a test gives to steps. */
export class Answers {
  readonly #byId = new Map<string, StepAnswer>();
  readonly #used = new Set<string>();

  constructor(answers: readonly StepAnswer[]) {
    for (const answer of answers) this.#byId.set(answer.id, answer);
  }

  /** Of the steps that it answers. */
  get ids(): readonly string[] {
    return [...this.#byId.keys()];
  }

  /** Those that no step has asked for. */
  get unused(): readonly string[] {
    return this.ids.filter((id) => !this.#used.has(id));
  }

  has(fullId: string): boolean {
    return mockOf((id) => this.#byId.get(id), fullId) !== undefined;
  }

  /** For the step, which uses it. */
  find(fullId: string): StepAnswer | undefined {
    const found = mockOf((id) => this.#byId.get(id), fullId);
    if (found !== undefined) this.#used.add(found.id);
    return found;
  }

  /** A body of the author's is replaced by the test's. */
  readonly intercept = (fullId: string, call: StepCall): StepCall => {
    const answer = call.kind === "run" ? this.find(fullId) : undefined;
    if (answer === undefined) return call;
    return { ...call, body: (_hash, args) => answer.handler(...(args as never[])) };
  };

  /**
   * How a step ends that has begun to wait; undefined: by its own time, which is over at `untilMs`.
   * @throws HoldfastError `TEST_STEP_UNANSWERED`
   */
  async answer(
    op: Op,
    fullId: string,
    { nowMs, untilMs }: { readonly nowMs: number; readonly untilMs: number | null },
    invoke: InvokedRun,
  ): Promise<Answer | undefined> {
    if (op.op === "Sleep") return undefined;
    const answer = this.find(fullId);
    if (answer === undefined) {
      if (op.op === "WaitForEvent" || op.op === "WaitForSignal") return undefined;
      const { function_id: slug, payload } = op.opts ?? {};
      const run = op.op === "InvokeFunction" ? await invoke(String(slug), payload, nowMs) : undefined;
      if (run === undefined) throw unanswered(op, fullId, this.unused);
      return { atMs: nowMs + run.elapsedMs, result: run.result };
    }
    const afterMs = answer.after === undefined ? 0 : parseDurationMs(answer.after, `\`after\` of step "${fullId}"`);
    const atMs = nowMs + afterMs;
    if (untilMs !== null && atMs > untilMs) return undefined;
    try {
      const text = JSON.stringify(await dataOf(op, await answer.handler(), nowMs)) ?? "null";
      return { atMs, result: { type: "data", text } };
    } catch (thrown) {
      return { atMs, result: { type: "error", error: toPlainError(thrown) } };
    }
  }
}

/** The data that the run has on record then. */
async function dataOf(op: Op, value: unknown, nowMs: number): Promise<unknown> {
  switch (op.op) {
    case "WaitForEvent": {
      if (value === null || value === undefined) return null;
      const isEvent = isRecord(value) && typeof value.name === "string" && isRecord(value.data);
      const event = isEvent ? value : { data: value };
      return { id: `event-${op.id.slice(0, 8)}`, ts: nowMs, name: op.name, ...event };
    }
    case "WaitForSignal":
      return value === null || value === undefined ? null : { signal: op.name, data: value };
    case "Gateway":
      return recorded(value, String(op.opts?.url));
    default:
      return value ?? null;
  }
}

/** A Response as the gateway would record it; anything else is its body. */
async function recorded(value: unknown, url: string): Promise<unknown> {
  if (value instanceof Response) {
    return { url, status_code: value.status, headers: Object.fromEntries(value.headers), body: await value.text() };
  }
  const body = typeof value === "string" ? value : JSON.stringify(value ?? null);
  return { url, status_code: 200, headers: { "content-type": "application/json" }, body };
}

function unanswered(op: Op, fullId: string, unused: readonly string[]): HoldfastError {
  const what =
    op.op === "InvokeFunction"
      ? `invokes the function "${String(op.opts?.function_id)}"`
      : `makes an HTTP request to ${String(op.opts?.url)}`;
  return new HoldfastError(
    "TEST_STEP_UNANSWERED",
    `Step "${fullId}" ${what}, which this test does not answer: add { id: "${fullId}", handler: () => ... } to \`steps\`${op.op === "InvokeFunction" ? ", or the function to `functions`" : ""}.${unusedText(unused)}`,
  );
}
