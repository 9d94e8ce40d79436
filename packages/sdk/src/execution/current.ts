/**
 * Which function and step the running code belongs to, kept in an AsyncLocalStorage. Nested steps are noticed by it,
 * and a stall report asks it, through a debugger, who blocks the thread.
 */
import type { AsyncLocalStorage } from "node:async_hooks";
import { type RequestTrace, readRequestTrace } from "@holdfast/protocol";
import { nodeModule } from "../runtime.ts";
import { poolThread } from "../steps/isolated.ts";
import { parentSpan } from "../telemetry/parent-span.ts";
import { tracing } from "../telemetry/tracing.ts";
import type { SignalSource } from "./abort.ts";
import type { PassRequest } from "./execution.ts";

/** Which step's body is running. */
export interface CurrentStep {
  readonly id: string;
  readonly hash: string;
  readonly attempt: number;
  /** False once the body has ended: callbacks it left behind are no part of it. */
  active: boolean;
  /** Steps that were called in the body, which is an error. */
  nested?: { readonly error: Error; readonly promise: { readonly isAwaited: boolean } }[];
}

/** Which function's code is running. */
export interface CurrentExecution {
  readonly requestId: string;
  readonly runId: string;
  readonly functionSlug: string;
  /** Absent in the handler outside of steps. */
  readonly step?: CurrentStep;
}

/** Not in JSON, as a debugger has it: asking for it would make a signal. */
const SIGNAL = Symbol("holdfast.signal");

/** With the trace that the run belongs to, if it belongs to one. */
export interface TracedExecution extends CurrentExecution {
  readonly trace?: RequestTrace;
}

export function executionOf({ requestId, runId, functionSlug, userTraceCtx }: PassRequest): TracedExecution {
  const trace = userTraceCtx && readRequestTrace(userTraceCtx);
  return trace ? { requestId, runId, functionSlug, trace } : { requestId, runId, functionSlug };
}

interface StoredExecution extends CurrentExecution {
  trace?: RequestTrace;
  readonly [SIGNAL]: SignalSource;
}

let made: AsyncLocalStorage<StoredExecution> | undefined;

function storage(): AsyncLocalStorage<StoredExecution> {
  made ??= new (nodeModule("node:async_hooks").AsyncLocalStorage)<StoredExecution>();
  return made;
}

/** The execution that the calling code belongs to, also after awaits; undefined outside of handlers. */
export function currentExecution(): CurrentExecution | undefined {
  return tracedExecution();
}

export function tracedExecution(): TracedExecution | undefined {
  return made?.getStore() ?? ofPoolThread();
}

/** In a pool thread handlers run in another copy of this package than the one that the app imports. */
function ofPoolThread(): CurrentExecution | undefined {
  const current = poolThread()?.currentExecution;
  return current === undefined || current === currentExecution
    ? undefined
    : (current() as CurrentExecution | undefined);
}

/**
 * The signal of `source` is what `stepSignal()` gives in the code.
 * @param step whose body the code is; default: that of the execution
 */
export function runAs<T>(execution: TracedExecution, source: SignalSource, code: () => T, step = execution.step): T {
  const { requestId, runId, functionSlug, trace } = execution;
  // Field by field, since each body has one: objects that are spread are slow to make and to collect.
  const stored: StoredExecution =
    step === undefined
      ? { requestId, runId, functionSlug, [SIGNAL]: source }
      : { requestId, runId, functionSlug, step, [SIGNAL]: source };
  if (trace !== undefined) stored.trace = trace;
  const traces = trace && tracing();
  if (!traces) return storage().run(stored, code);
  return storage().run(stored, () => traces.runUnder(parentSpan(trace, step), code));
}

/** The signal of the code that asks: of its step, or of its run; undefined outside of handlers. */
export const currentSignal = (): AbortSignal | undefined => made?.getStore()?.[SIGNAL].signal;

/**
 * Where a debugger that has paused this thread finds `currentExecution`: evaluated in the paused frame it names the
 * run and step that block the thread. Another copy of this package in the process does the same for its own.
 */
export const CURRENT_EXECUTION_KEY = "holdfast.currentExecution";

export function publishCurrentExecution(): void {
  const key = Symbol.for(CURRENT_EXECUTION_KEY);
  const outer = (globalThis as Record<symbol, unknown>)[key] as (() => CurrentExecution | undefined) | undefined;
  if (outer === currentExecution || (outer as { copies?: unknown } | undefined)?.copies === storage()) return;
  const find = Object.assign(() => currentExecution() ?? outer?.(), { copies: storage() });
  Object.defineProperty(globalThis, key, { value: find, configurable: true, enumerable: false });
}
