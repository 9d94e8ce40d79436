/** What the gateway itself has ended of a run: sleeps, waits, invocations, calls. Pure. */
import type { RunState } from "./run-state.ts";
import { isParkedOp } from "./step-ops.ts";

/** The end of a step that needs no worker, as requests carry it. */
export interface EndedWait {
  readonly stepId: string;
  /** Its entry in the steps of a request, JSON text. */
  readonly text: string;
}

/** Those that ended after the first `recorded` results of the run, in their order. */
export function endedWaits({ memo }: Pick<RunState, "memo">, recorded: number): readonly EndedWait[] {
  if (memo.size <= recorded) return [];
  return [...memo]
    .slice(recorded)
    .flatMap(([stepId, { signature, text }]) => (isParkedOp(kindOf(signature)) ? [{ stepId, text }] : []));
}

const kindOf = (signature: string): string => /^\w*/.exec(signature)?.[0] ?? "";

/** As GATEWAY_RESULTS has them. */
export function resultsText(ended: readonly EndedWait[]): string {
  return `[${ended.map(({ stepId, text }) => `[${JSON.stringify(stepId)},${text}]`).join(",")}]`;
}
