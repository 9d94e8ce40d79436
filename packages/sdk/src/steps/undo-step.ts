/**
 * What undoes an invocation or a request is carried by a step of its own, which follows it: so graphs do it
 * (docs/decisions/0110). Both calls name that step, under a symbol, since it is no option for authors. Their
 * ops name it as well (`opts.undoStep`): the gateway may fail the run itself.
 */
const UNDO_STEP = Symbol.for("holdfast.undoStep");

/** From the options of a call. */
export function undoStepOf(options: unknown): { readonly undoStep?: string } {
  if (typeof options !== "object" || options === null) return {};
  const undoStep = (options as { readonly [UNDO_STEP]?: unknown })[UNDO_STEP];
  return typeof undoStep === "string" ? { undoStep } : {};
}
