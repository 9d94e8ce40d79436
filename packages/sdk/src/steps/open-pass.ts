/** The state of a pass that is open: how it begins, and how the machine's next one is made of it. */
import type { OpenPass, PassMode } from "./pass-types.ts";

/** `recorded`: how many results were on record before the pass. */
export function initialPass(mode: PassMode, recorded: number): OpenPass {
  return {
    phase: "open",
    mode,
    running: 0,
    seen: recorded,
    stored: recorded,
    held: null,
    unsent: null,
    unanswered: null,
    reports: null,
    untold: null,
    unstoredWaits: 0,
    flushing: false,
    refused: false,
    ending: null,
    serial: 0,
  };
}

/** A state that only its maker knows so far. */
export type NextOpenPass = { -readonly [Name in keyof OpenPass]: OpenPass[Name] };

/**
 * A copy that is to become the next state. Field by field, since a step takes several: objects of this size are spread
 * twenty times as slowly.
 */
export function copyOf(state: OpenPass): NextOpenPass {
  return {
    phase: "open",
    mode: state.mode,
    running: state.running,
    seen: state.seen,
    stored: state.stored,
    held: state.held,
    unsent: state.unsent,
    unanswered: state.unanswered,
    reports: state.reports,
    untold: state.untold,
    unstoredWaits: state.unstoredWaits,
    flushing: state.flushing,
    refused: state.refused,
    ending: state.ending,
    serial: state.serial,
  };
}
