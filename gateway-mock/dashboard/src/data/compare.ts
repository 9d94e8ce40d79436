/** Where two runs part: the first step in which one did other than the other. Pure. */
import type { RunDetail, Step } from "./types.ts";

export type Verdict = "same" | "differs" | "only-a" | "only-b";

export interface ComparedStep {
  readonly name: string;
  readonly verdict: Verdict;
  readonly a: Step | null;
  readonly b: Step | null;
}

export interface Comparison {
  readonly sameInput: boolean;
  readonly sameEnd: boolean;
  readonly steps: readonly ComparedStep[];
  /** Of `steps`; -1: there is none. */
  readonly first: number;
}

/** A step's id follows from its name and its place among its repeats: the same in both runs. */
export function compareRuns(a: RunDetail, b: RunDetail): Comparison {
  const inB = new Map(b.steps.map((step) => [step.id, step]));
  const inA = new Set(a.steps.map(({ id }) => id));
  const steps: ComparedStep[] = a.steps.map((step) => {
    const other = inB.get(step.id) ?? null;
    const verdict = other === null ? "only-a" : isSame(step, other) ? "same" : "differs";
    return { name: step.name ?? step.id, verdict, a: step, b: other };
  });
  for (const step of b.steps) {
    if (!inA.has(step.id)) steps.push({ name: step.name ?? step.id, verdict: "only-b", a: null, b: step });
  }
  return {
    sameInput: text(dataOf(a.event)) === text(dataOf(b.event)),
    sameEnd: a.status === b.status && text(a.output) === text(b.output) && messageOf(a.error) === messageOf(b.error),
    steps,
    first: steps.findIndex(({ verdict }) => verdict !== "same"),
  };
}

const isSame = (a: Step, b: Step): boolean =>
  a.status === b.status && text(a.output) === text(b.output) && messageOf(a.error) === messageOf(b.error);

const dataOf = (event: unknown): unknown => (event as { readonly data?: unknown } | null)?.data;
const messageOf = (error: unknown): string => text((error as { readonly message?: unknown } | null)?.message);

/** The same for values that differ only in the order of their fields. */
function text(value: unknown): string {
  return JSON.stringify(sorted(value)) ?? "";
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, sorted(field)]));
}
