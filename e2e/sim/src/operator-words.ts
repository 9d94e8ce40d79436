/** What operators say, by which the oracle knows it again. */

/** Among the runs that someone asked to cancel: all that a bulk job may cancel. */
export const BY_BULK = "by a bulk job";
/** What a fork is told that its step gave. */
export const EDITED = "edited";
