/** What a worker is answered to a checkpoint. */
import type { CheckpointOutcome } from "@holdfast/protocol";

export interface CheckpointResult {
  readonly outcome: CheckpointOutcome;
  readonly message: string;
  /** It is about another worker's request. */
  readonly foreign?: true;
}

export const STORED: CheckpointResult = { outcome: "stored", message: "" };
export const FOREIGN: CheckpointResult = {
  outcome: "stale",
  message: "The request was not dispatched to any app of this connection.",
  foreign: true,
};
export const STALE: CheckpointResult = {
  outcome: "stale",
  message: "The request was reassigned to another worker, or the run has ended.",
};
