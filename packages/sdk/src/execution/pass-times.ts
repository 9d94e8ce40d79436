/** Times after which a pass goes on in another way. */

/**
 * What took this long is stored before the handler goes on: it is dear to repeat, the work may have been lost meanwhile,
 * and beside it the acknowledgement takes little time.
 */
export const LONG_BODY_MS = 50;
/** How long a targeted pass waits, all being quiet, for a step that has not been found. */
export const MISSING_GRACE_MS = 1000;
/** How long, all being quiet, code between steps may take to ask for a step that is on record. */
export const RECORDED_GRACE_MS = 2000;
/** The same for a replay that looks for compensations: one that is not found is one that does not run. */
export const UNDO_GRACE_MS = 10_000;
