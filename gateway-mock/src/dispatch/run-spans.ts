/** The spans that the rows of one commit end: attempts of steps, waits, passes, the run. */
import { type PlainError, ulidTimeMs } from "@holdfast/core";
import {
  attemptSpanId,
  type FailureMeta,
  isEnded,
  isParkedOp,
  passSpanId,
  type RunState,
  type RunTrace,
  readMeta,
  readStepRow,
  type StepMeta,
} from "@holdfast/engine";
import { environmentOf, type LogRow, plainName } from "@holdfast/store";
import type { SpanFacts } from "./span-facts.ts";

type Attributes = SpanFacts["attributes"];

export class RunSpans {
  readonly #state: RunState;
  readonly #trace: RunTrace;
  readonly #record: (facts: SpanFacts) => void;
  readonly #pass: ReturnType<RunState["jobs"]["get"]>;
  readonly #losses: number;
  /** What the handler ended with. */
  #error: PlainError | null = null;

  /** Before the rows are applied to `state`. */
  constructor(state: RunState, trace: RunTrace, record: (facts: SpanFacts) => void) {
    this.#state = state;
    this.#trace = trace;
    this.#record = record;
    this.#pass = state.jobs.get("pass");
    this.#losses = this.#pass ? (state.losses.get(this.#pass.id) ?? 0) : 0;
  }

  /** A row that was stored, before it is applied. */
  before(row: LogRow, atMs: number): void {
    switch (row.kind) {
      case "STEP_COMPLETED":
        return this.#settled(row, null, atMs);
      case "STEP_FAILED":
        return this.#settled(row, readMeta<{ error: PlainError }>(row.dataJson).error, atMs);
      case "STEP_ATTEMPT_FAILED": {
        const { step, error } = readMeta<FailureMeta>(row.dataJson);
        return this.#attempt(row.key, { ...step, attempt: row.attempt }, error, atMs);
      }
      case "PASS_FAILED":
        if (row.key === "") this.#error = readMeta<{ error: PlainError }>(row.dataJson).error;
        return;
      case "RUN_COMPLETED":
        return this.#ended("COMPLETED", null, atMs);
      case "RUN_FAILED":
        return this.#ended("FAILED", readMeta<{ error: PlainError }>(row.dataJson).error, atMs);
      case "RUN_CANCELLED":
        return this.#ended("CANCELLED", readMeta<{ error: PlainError }>(row.dataJson).error, atMs);
      default:
    }
  }

  /** All rows are applied. */
  after(atMs: number): void {
    const pass = this.#pass;
    // One that was not due yet was never given out.
    if (!pass || pass.dueMs > atMs || this.#state.jobs.get("pass")?.id === pass.id) return;
    this.#add({
      kind: "pass",
      name: `pass ${plainName(this.#state.functionId)}`,
      spanId: passSpanId(this.#trace, pass.id),
      startMs: pass.dueMs,
      endMs: atMs,
      attributes: {
        "holdfast.attempt": pass.attempt,
        ...(this.#losses > 0 ? { "holdfast.losses": this.#losses } : {}),
      },
      error: this.#error,
    });
  }

  #settled(row: LogRow, error: PlainError | null, atMs: number): void {
    const { kind, key } = row;
    if ((kind !== "STEP_COMPLETED" && kind !== "STEP_FAILED") || this.#state.memo.has(key)) return;
    const { meta } = readStepRow(kind, row.dataJson);
    if (meta.clears) this.#endWaits("The run failed while it waited.", atMs);
    // Our own notes, and what another run has done.
    if (meta.clears || meta.kept) return;
    this.#attempt(key, meta, error, atMs);
  }

  #attempt(key: string, meta: StepMeta, error: PlainError | null, atMs: number): void {
    const { op, name = key, attempt = 0, startedMs, durationMs = 0 } = meta;
    const isWait = isParkedOp(op);
    const startMs = Math.min(startedMs ?? this.#state.open.get(key)?.sinceMs ?? atMs, atMs);
    this.#add({
      kind: isWait ? "wait" : "step",
      name: `${isWait ? wordOf(op) : "step"} ${name}`,
      spanId: attemptSpanId(this.#trace, key, attempt),
      startMs,
      endMs: startedMs === undefined ? atMs : startMs + durationMs,
      attributes: { "holdfast.step.id": name, "holdfast.step.op": op, "holdfast.attempt": attempt },
      error,
    });
  }

  #ended(status: "COMPLETED" | "FAILED" | "CANCELLED", error: PlainError | null, atMs: number): void {
    const { runId, revivals } = this.#state;
    if (isEnded(this.#state.status)) return;
    this.#error ??= status === "FAILED" ? error : null;
    this.#endWaits(status === "COMPLETED" ? null : `The run was ${status.toLowerCase()} while it waited.`, atMs);
    const { parentSpanId, links } = this.#trace;
    this.#add({
      kind: "run",
      name: `run ${plainName(this.#state.functionId)}`,
      spanId: this.#trace.span.spanId,
      parentSpanId,
      links,
      startMs: Math.min(revivals === 0 ? ulidTimeMs(runId) : this.#state.createdMs, atMs),
      endMs: atMs,
      attributes: { "holdfast.run.status": status },
      error: status === "COMPLETED" ? null : error,
    });
  }

  #endWaits(why: string | null, atMs: number): void {
    for (const [key, { phase, op, name }] of this.#state.open) {
      if (phase !== "waiting") continue;
      const attempt = this.#state.attempts.get(key) ?? 0;
      const error = why === null ? null : { name: "Error", message: why };
      this.#attempt(key, { op, attempt, ...(name === null ? {} : { name }) }, error, atMs);
    }
  }

  #add({
    spanId,
    attributes,
    parentSpanId = this.#trace.span.spanId,
    links = [],
    ...rest
  }: Omit<SpanFacts, "span" | "parentSpanId" | "links"> &
    Partial<Pick<SpanFacts, "parentSpanId" | "links">> & { readonly spanId: string }): void {
    const span = { ...this.#trace.span, spanId };
    this.#record({ ...rest, span, parentSpanId, links, attributes: { ...this.#common(), ...attributes } });
  }

  #common(): Attributes {
    const { runId, functionId, appId, appVersion } = this.#state;
    return {
      "holdfast.run.id": runId,
      "holdfast.function.id": plainName(functionId),
      "holdfast.app.id": plainName(appId),
      ...(appVersion === "" ? {} : { "holdfast.app.version": appVersion }),
      "holdfast.environment": environmentOf(functionId),
    };
  }
}

function wordOf(op: string): string {
  switch (op) {
    case "Sleep":
      return "sleep";
    case "InvokeFunction":
      return "invoke";
    case "Gateway":
    case "AIGateway":
      return "fetch";
    default:
      return "wait";
  }
}
