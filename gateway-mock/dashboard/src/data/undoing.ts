/** What a run that failed has undone of its steps, and what it has not, as its error says. Pure. */
import type { Fact, RunDetail } from "./types.ts";

/** The step whose result says why a run undoes its steps: no step of the code. */
export const FAILURE_STEP = "e54d2e8d43a999def9e2a2d59091b498d84639c0";

/** Steps by the ids that their author gave them. */
export interface UndoingReport {
  readonly undone: readonly string[];
  readonly failed: readonly { readonly stepId: string; readonly error: unknown }[];
  readonly notRun: readonly string[];
}

/** Null: it has undone nothing, or still does. */
export function undoingReport({
  compensating,
  error,
}: Pick<RunDetail, "compensating" | "error">): UndoingReport | null {
  const { compensation } = (error ?? {}) as { readonly compensation?: Partial<UndoingReport> | null };
  if (!compensating || typeof compensation !== "object" || compensation === null) return null;
  const { undone = [], failed = [], notRun = [] } = compensation;
  return { undone, failed, notRun };
}

/** Of a run that goes on: ids of the steps whose results no longer count. */
export function droppedBy({ data }: Fact): readonly string[] {
  const { dropped = [] } = (data ?? {}) as { readonly dropped?: readonly string[] };
  return dropped;
}
