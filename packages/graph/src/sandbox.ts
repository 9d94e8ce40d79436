/**
 * `@holdfast/graph/sandbox`: the module that threads of the pool evaluate to run code of `javascript` nodes. Apps do not
 * import it.
 */
import { isolated } from "holdfast/isolate";
import type { RunCode } from "./nodes/call-steps.ts";
import { runCode } from "./sandbox/run-code.ts";

export type { CodeJob, CodeResult } from "./nodes/code-job.ts";

/** A budget stands for all calls of one function, so there is one for each of these times: the next one counts. */
const TIMES_MS = [1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300].map((seconds) => seconds * 1_000);
/** In which the sandbox itself is loaded, and ends code whose time is over. Then the thread is ended. */
const GRACE_MS = 5_000;

const bodies = TIMES_MS.map((ms) => ({
  ms,
  run: isolated(import.meta.url, `holdfast-graph-code-${ms}`, runCode, { budget: ms + GRACE_MS }),
}));

/** What runs code that may take so long. */
export function isolatedCode(timeoutMs: number): RunCode {
  const { run = runCode } = bodies.find(({ ms }) => timeoutMs <= ms) ?? bodies.at(-1) ?? {};
  return run;
}
