/**
 * Tells a connection thread that hangs from a process that was stopped. `main/hang-watch.ts` drives it; see
 * docs/decisions/0037.
 */
import { type Next, unreachable } from "@holdfast/core";

/**
 * Whether the connection thread hangs: it lives and does nothing. Main counts its own ticks in which it saw no sign of
 * life, never time.
 *
 * HANG-1. HUNG comes when the ticks without a sign, in a row, are as many as the limit of the last tick, and once for each thread.
 * HANG-2. Time in which main made no tick counts for nothing: a suspended machine, a stopped process and a blocked main are
 *     no hang of the thread.
 * HANG-3. A tick while an inspector is open begins the count anew: a debugger may hold the thread.
 * HANG-4. A tick while the thread inspects main's stack counts half.
 * HANG-5. Before its first sign a thread has `STARTING` times as many ticks: it is being loaded.
 * HANG-6. Without a thread, and after HUNG until the next one, ticks mean nothing.
 */
export type HangState =
  | { readonly phase: "none" }
  | { readonly phase: "starting" | "watching"; readonly signs: number; readonly stillTicks: number }
  | { readonly phase: "hung" };

export type HangEvent =
  | { readonly type: "STARTED"; readonly signs: number }
  | { readonly type: "ENDED" }
  | {
      readonly type: "TICK";
      /** The thread's count of signs. */
      readonly signs: number;
      readonly limitTicks: number;
      readonly debugged: boolean;
      readonly isInspecting: boolean;
    };

export type HangEffect = { readonly do: "HUNG" };

export const HANG_START: HangState = { phase: "none" };

export const STARTING = 3;

export function stepHang(state: HangState, event: HangEvent): Next<HangState, HangEffect> {
  switch (event.type) {
    case "STARTED":
      return [{ phase: "starting", signs: event.signs, stillTicks: 0 }, []];
    case "ENDED":
      return [HANG_START, []];
    case "TICK":
      return tick(state, event);
    default:
      return unreachable(event);
  }
}

function tick(state: HangState, event: Extract<HangEvent, { type: "TICK" }>): Next<HangState, HangEffect> {
  if (state.phase === "none" || state.phase === "hung") return [state, []];
  const { signs, debugged, isInspecting, limitTicks } = event;
  if (signs !== state.signs) return [{ phase: "watching", signs, stillTicks: 0 }, []];
  if (debugged) return [{ ...state, stillTicks: 0 }, []];
  const stillTicks = state.stillTicks + (isInspecting ? 0.5 : 1);
  const limit = state.phase === "starting" ? limitTicks * STARTING : limitTicks;
  return stillTicks >= limit ? [{ phase: "hung" }, [{ do: "HUNG" }]] : [{ ...state, stillTicks }, []];
}
