/**
 * Which function and step the running code belongs to, kept in an AsyncLocalStorage. Nested steps are noticed by it,
 * and a stall report asks it, through a debugger, who blocks the thread.
 */
import type { AsyncLocalStorage } from "node:async_hooks";
import { nodeModule } from "../runtime.ts";

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

let made: AsyncLocalStorage<CurrentExecution> | undefined;

function storage(): AsyncLocalStorage<CurrentExecution> {
  made ??= new (nodeModule("node:async_hooks").AsyncLocalStorage)<CurrentExecution>();
  return made;
}

/** The execution that the calling code belongs to, also after awaits; undefined outside of handlers. */
export function currentExecution(): CurrentExecution | undefined {
  return made?.getStore();
}

export function runAs<T>(execution: CurrentExecution, code: () => T): T {
  return storage().run(execution, code);
}

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
