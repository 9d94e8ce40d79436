/** What a thread has said of its turn, as the pool's callers want it: how the turn ended, and what its code printed. */
import { unreachable } from "@holdfast/core";
import type { PoolReport, TurnSubject } from "../shared/isolation-messages.ts";
import type { ThreadCells } from "../shared/thread-cells.ts";
import type { PoolDeps, TurnEnd } from "./pool-types.ts";

type Report<Type extends PoolReport["type"]> = Extract<PoolReport, { readonly type: Type }>;
export type Answer = Report<"DONE" | "FAILED" | "LOADED">;

export function endOf(answer: Answer): TurnEnd {
  switch (answer.type) {
    case "DONE":
      return { type: "done", json: answer.json, timing: answer.timing };
    case "FAILED":
      return { type: "failed", thrown: answer.thrown, timing: answer.timing };
    case "LOADED":
      return { type: "done", json: { text: "null", isUndefined: true }, timing: { startedMs: 0, durationMs: 0 } };
    default:
      return unreachable(answer);
  }
}

export interface OutputDeps extends Pick<PoolDeps, "log" | "output" | "onLogged"> {
  readonly cells: ThreadCells;
  readonly slot: number;
}

/** With the function, run and step whose code printed it. */
export function logOutput(
  { lines, dropped, step }: Report<"OUTPUT">,
  subject: TurnSubject | null,
  { log, output = log, cells, slot, onLogged }: OutputDeps,
): void {
  const { functionSlug, runId, step: body } = subject ?? {};
  const id = step ?? body?.id;
  const data = subject ? { function: functionSlug, run: runId, ...(id === undefined ? {} : { step: id }) } : {};
  if (dropped > 0) log("warn", `${dropped} lines that isolated code printed were dropped.`, data);
  for (const { level, text, logged } of lines) {
    if (logged !== undefined && onLogged) onLogged(level, logged);
    else output(level, text, data);
  }
  cells.addLogsTaken(slot, lines.length);
}
