/** Which steps of a long run are shown one by one, and which are folded into one line: those that went like most. Pure. */
import { failedAttempts } from "./revivals.ts";
import type { Step } from "./types.ts";

/** A list this long is shown whole. */
const WHOLE = 100;
const AT_BEGIN = 20;
const AT_END = 20;
/** Beside each step that is shown for itself. */
const AROUND = 2;
/** Fewer than these are not worth a line that hides them. */
const LEAST_FOLDED = 10;
const MOST_FOUND = 200;

export type StepRow =
  | { readonly kind: "step"; readonly step: Step }
  | {
      readonly kind: "folded";
      readonly steps: readonly Step[];
      /** All of them have completed. */
      readonly done: boolean;
    };

export interface Fold {
  /** To be shown in any case. */
  readonly selected: string | null;
  /** Steps of lines that were unfolded. */
  readonly unfolded: ReadonlySet<string>;
}

export const isLong = (steps: readonly Step[]): boolean => steps.length > WHOLE;

export const stepName = ({ name, id }: Pick<Step, "name" | "id">): string => name ?? id;

/** The first and the last, and what went otherwise than most: failed, retried, given, still open, selected. */
export function foldedSteps(steps: readonly Step[], { selected, unfolded }: Fold): StepRow[] {
  const isShown = new Array<boolean>(steps.length).fill(!isLong(steps));
  const show = (from: number, to: number): void => void isShown.fill(true, Math.max(0, from), to);
  show(0, AT_BEGIN);
  show(steps.length - AT_END, steps.length);
  for (const [index, step] of steps.entries()) {
    if (step.id === selected || !isPlain(step)) show(index - AROUND, index + AROUND + 1);
    if (unfolded.has(step.id)) show(index, index + 1);
  }
  const rows: StepRow[] = [];
  let hidden: Step[] = [];
  const flush = (): void => {
    if (hidden.length >= LEAST_FOLDED) rows.push({ kind: "folded", steps: hidden, done: hidden.every(isDone) });
    else for (const step of hidden) rows.push({ kind: "step", step });
    hidden = [];
  };
  for (const [index, step] of steps.entries()) {
    if (!isShown[index]) {
      hidden.push(step);
      continue;
    }
    flush();
    rows.push({ kind: "step", step });
  }
  flush();
  return rows;
}

const isDone = ({ status }: Step): boolean => status === "completed";

/** Of many steps at once most are still to come for a while. */
const isPlain = (step: Step): boolean =>
  (isDone(step) || step.status === "planned") && failedAttempts(step) === 0 && !step.edited && !step.compensation;

/** Those with the text in their name, at most 200, and how many there are. */
export function foundSteps(steps: readonly Step[], text: string): { readonly rows: StepRow[]; readonly count: number } {
  const wanted = text.toLowerCase();
  const found = steps.filter((step) => stepName(step).toLowerCase().includes(wanted));
  return { rows: found.slice(0, MOST_FOUND).map((step) => ({ kind: "step", step })), count: found.length };
}
