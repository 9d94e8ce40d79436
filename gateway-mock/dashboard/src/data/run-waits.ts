/** What the steps of a run wait for, as far as it can be given from the page. Pure. */
import type { RunDetail } from "./types.ts";

/** A signal that a step waits for now. */
export interface AwaitedSignal {
  readonly signal: string;
  readonly stepId: string;
  /** As people call it. */
  readonly step: string;
}

interface Wait {
  readonly kind: string;
  readonly name: string;
  readonly key: string;
}

export function awaitedSignals(run: RunDetail): readonly AwaitedSignal[] {
  const { waits = [] } = run as RunDetail & { readonly waits?: readonly Wait[] };
  return waits.flatMap(({ kind, name, key }) => {
    if (kind !== "signal") return [];
    return [{ signal: name, stepId: key, step: run.steps.find(({ id }) => id === key)?.name ?? key }];
  });
}
