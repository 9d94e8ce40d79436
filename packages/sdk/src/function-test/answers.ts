import { HoldfastError, parseDurationMs, parseGoDurationMs, toPlainError } from "@holdfast/core";
import { isRecord, type Op } from "@holdfast/protocol";
import { instantOf } from "../steps/points-in-time.ts";
import type { StepCall } from "../steps/step-call.ts";
import type { StepAnswer } from "./test-types.ts";

/** How a step that the gateway does ends: when, and what the run has on record then. */
export interface Ending {
  readonly dueMs: number;
  readonly entry: unknown;
}

/** What an invoked function gave. */
export type InvokedRun = (slug: string, payload: unknown) => Promise<{ output?: unknown; error?: unknown } | undefined>;

/** The answers a test gives to steps. */
export class Answers {
  readonly #byId = new Map<string, StepAnswer>();

  constructor(answers: readonly StepAnswer[]) {
    for (const answer of answers) this.#byId.set(answer.id, answer);
  }

  find(fullId: string): StepAnswer | undefined {
    return this.#byId.get(fullId) ?? this.#byId.get(fullId.replace(/:\d+$/, ""));
  }

  /** A body of the author's is replaced by the test's. */
  readonly intercept = (fullId: string, call: StepCall): StepCall => {
    const answer = call.kind === "run" ? this.find(fullId) : undefined;
    if (answer === undefined) return call;
    return { ...call, body: (_hash, args) => answer.handler(...(args as never[])) };
  };

  /** @throws HoldfastError `TEST_STEP_UNANSWERED` */
  async end(op: Op, fullId: string, nowMs: number, invoke: InvokedRun): Promise<Ending> {
    const timeoutMs = timeOf(op.opts?.timeout, nowMs);
    if (op.op === "Sleep") return { dueMs: timeOf(op.name, nowMs), entry: null };
    const answer = this.find(fullId);
    if (answer === undefined) {
      if (op.op === "WaitForEvent" || op.op === "WaitForSignal") return { dueMs: timeoutMs, entry: null };
      const run = op.op === "InvokeFunction" ? await invoke(String(op.opts?.function_id), op.opts?.payload) : undefined;
      if (run === undefined) throw unanswered(op, fullId);
      return { dueMs: nowMs, entry: run.error === undefined ? { data: run.output ?? null } : { error: run.error } };
    }
    const afterMs = answer.after === undefined ? 0 : parseDurationMs(answer.after, `\`after\` of step "${fullId}"`);
    const isLate = op.opts?.timeout !== undefined && nowMs + afterMs > timeoutMs;
    if (isLate) return { dueMs: timeoutMs, entry: op.op === "InvokeFunction" ? TIMED_OUT : null };
    try {
      const value = await answer.handler();
      return { dueMs: nowMs + afterMs, entry: await entryOf(op, value, nowMs) };
    } catch (thrown) {
      return { dueMs: nowMs + afterMs, entry: { error: toPlainError(thrown) } };
    }
  }
}

const TIMED_OUT = {
  error: { name: "InvokeTimeoutError", code: "INVOKE_TIMEOUT", message: "The invoked function timed out." },
};

async function entryOf(op: Op, value: unknown, nowMs: number): Promise<unknown> {
  switch (op.op) {
    case "WaitForEvent": {
      if (value === null || value === undefined) return null;
      const isEvent = isRecord(value) && typeof value.name === "string" && isRecord(value.data);
      const event = isEvent ? value : { data: value };
      return { id: `event-${op.id.slice(0, 8)}`, ts: nowMs, name: op.name, ...event };
    }
    case "WaitForSignal":
      return value === null || value === undefined ? null : { data: { signal: op.name, data: value } };
    case "Gateway":
      return { data: await recorded(value, String(op.opts?.url)) };
    default:
      return { data: value ?? null };
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

function unanswered(op: Op, fullId: string): HoldfastError {
  const what =
    op.op === "InvokeFunction"
      ? `invokes the function "${String(op.opts?.function_id)}"`
      : `makes an HTTP request to ${String(op.opts?.url)}`;
  return new HoldfastError(
    "TEST_STEP_UNANSWERED",
    `Step "${fullId}" ${what}, which this test does not answer: add { id: "${fullId}", handler: () => ... } to \`steps\`${op.op === "InvokeFunction" ? ", or the function to `functions`" : ""}.`,
  );
}

/** A duration from now or a point in time; a year when there is none. */
function timeOf(text: unknown, nowMs: number): number {
  if (typeof text !== "string") return nowMs + 365 * 86_400_000;
  const instant = instantOf(text);
  return instant === undefined ? nowMs + (parseGoDurationMs(text) ?? 0) : Math.max(nowMs, Date.parse(instant));
}
