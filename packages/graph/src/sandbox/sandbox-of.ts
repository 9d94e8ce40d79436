/** Where code of `javascript` nodes runs: in threads, where this package's files can be found. */
import { createRequire } from "node:module";
import type { RunCode, RunCodeFor, Sandbox } from "../nodes/call-steps.ts";
import { runInOwnThread } from "./own-thread.ts";
import { runCode } from "./run-code.ts";

/** In a thread of the pool, or on the main thread. */
export type SandboxPlace = "pool" | "main";

const ON_MAIN: Sandbox = { ofStep: () => runCode, alone: runCode };

/**
 * A thread evaluates a module of its own for it, which is a file of this package; in a bundle of one file there is none.
 * It is loaded at once, since `connect()` tries all modules of isolated code before it connects.
 * @throws what `require` throws, for "pool"
 */
export function sandboxOf(place: SandboxPlace | "auto"): Sandbox {
  if (place === "main") return ON_MAIN;
  try {
    const require = createRequire(import.meta.url);
    const file = require.resolve("@holdfast/graph/sandbox");
    const { isolatedCode } = require(file) as { readonly isolatedCode: RunCodeFor };
    const alone: RunCode = (job) => runInOwnThread(file, job);
    return { ofStep: isolatedCode, alone };
  } catch (error) {
    if (place === "pool") throw error;
    return ON_MAIN;
  }
}
