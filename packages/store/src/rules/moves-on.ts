/** Which jobs and waits move a run on, rather than only end it. Pure; on Postgres `unmovedRuns` says the same in SQL. */
import type { WaitKind } from "../port/events.ts";

/** Timers of the run as a whole; they move nothing on by themselves. */
export const DEADLINE = "holdfast/deadline";
export const FINISH_TIMEOUT = "holdfast/finish";

export const isRunTimer = (key: string): boolean => key === DEADLINE || key === FINISH_TIMEOUT;

export const movesOn = ({ kind, key }: { readonly kind: string; readonly key: string }): boolean =>
  kind !== "start" && !(kind === "timer" && isRunTimer(key));

export const waitMovesOn = ({ kind }: { readonly kind: WaitKind }): boolean => kind !== "cancel";
