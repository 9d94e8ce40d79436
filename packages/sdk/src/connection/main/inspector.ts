/**
 * What main knows about debuggers: whether one may be attached, and whether the connection thread may look at main's
 * stack.
 */
import { nodeModule } from "../../runtime.ts";

/** Runtimes that have no inspector, or none that a thread can use. */
const OTHERS = ["Bun", "Deno"] as const;

let url: (() => string | undefined) | undefined;

/** Whether a debugger can be attached to this process: then it, and not the app, may be what stops the main thread. */
export function isInspectorOpen(): boolean {
  try {
    url ??= process.getBuiltinModule("node:inspector").url;
    return url() !== undefined;
  } catch {
    // This Node was built without an inspector.
    url = () => undefined;
    return false;
  }
}

/** Why the stack of the calling thread cannot be inspected while it is blocked; null = it can. */
export function whyNoStack(versions: Readonly<Record<string, string | undefined>> = process.versions): string | null {
  if (!nodeModule("node:worker_threads").isMainThread) {
    return "connect() was called on a worker thread; only the process's main thread can be inspected.";
  }
  const other = OTHERS.find((name) => versions[name.toLowerCase()] !== undefined);
  if (other !== undefined) return `${other} does not show the stack of a blocked main thread.`;
  // There Node has no inspector, and ends the whole process when a thread asks for it.
  const permission: { has(scope: string): boolean } | undefined = process.permission;
  return permission === undefined || permission.has("inspector")
    ? null
    : "Node's permission model does not allow the inspector.";
}
