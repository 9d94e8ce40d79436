import type { StepId } from "./worker.ts";

export const STEPS: readonly StepId[] = ["event", "signal", "child", "sleep", "body", "more", "undoable"];

/** What a schedule has more of than others: the likelihood of each step and each trouble, and how often one may come. */
export interface Focus {
  readonly steps: Partial<Record<StepId, number>>;
  readonly troubles: Partial<Record<Trouble, readonly [part: number, most: number]>>;
  readonly deadline?: number;
  /** Up to which move troubles begin. */
  readonly within?: number;
}
export type Trouble =
  | "event"
  | "other"
  | "stop"
  | "signal"
  | "cancel"
  | "time"
  | "look"
  | "leases"
  | "death"
  | "move"
  | "kill";

export const USUAL: Required<Focus["troubles"]> = {
  event: [0.4, 2],
  other: [0.2, 1],
  stop: [0.2, 1],
  signal: [0.4, 1],
  cancel: [0.15, 1],
  time: [0.25, 2],
  look: [0.6, 8],
  leases: [0.2, 1],
  death: [0.2, 1],
  move: [0.2, 1],
  kill: [0.1, 1],
};
export const FOCUSES: readonly Focus[] = [
  { steps: {}, troubles: {} },
  {
    steps: { sleep: 0.9, event: 0.7, signal: 0.5, child: 0.1, body: 0.9, more: 0.9 },
    within: 35,
    troubles: { time: [0.9, 2], look: [0.9, 12], stop: [0, 0], cancel: [0, 0], event: [0.5, 1] },
  },
  {
    steps: { undoable: 1, body: 0.7, event: 0.3, child: 0.1, signal: 0.1, sleep: 0.1 },
    troubles: { time: [1, 1], look: [0.9, 10], stop: [0, 0], cancel: [0, 0], move: [0.5, 2] },
    deadline: 1,
  },
  {
    steps: { event: 1, body: 0.4 },
    troubles: { event: [0.9, 3], kill: [0.5, 1], time: [0.1, 1], look: [0.7, 8] },
  },
  {
    steps: { body: 0.9, more: 0.9 },
    troubles: { leases: [0.9, 2], death: [0.5, 2], move: [0.7, 3], kill: [0.4, 1], look: [0.9, 12] },
  },
];
