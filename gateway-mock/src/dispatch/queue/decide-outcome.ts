/** What became of an input. `nothing`: it changes nothing (any more). `stale`: another worker has the work. */
export type DecideOutcome = "won" | "nothing" | "stale" | "gone";
