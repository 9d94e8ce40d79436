/** Why a run waits, as the API shows it. Pure. */
import type { RunWaiting } from "../dispatch/index.ts";
import { isoTimeOrNull } from "./iso-time.ts";

export interface WaitingView extends RunWaiting {
  readonly untilAt: string | null;
}

export const waitingView = (waiting: RunWaiting | null): WaitingView | null =>
  waiting && { ...waiting, untilAt: isoTimeOrNull(waiting.untilMs) };
