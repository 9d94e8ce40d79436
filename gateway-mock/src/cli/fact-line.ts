/** How a fact of a run reads in a line, for `tail` and for the lines of `dev`. Pure; texts come from apps. */
import { durationText, errorLine } from "./run-text.ts";
import { oneLine } from "./table.ts";

/** A fact as live streams have it, as far as it is shown here. */
export interface ShownFact {
  readonly kind: string;
  readonly attempt: number;
  readonly step?: { readonly name: string | null; readonly op: string | null };
  readonly error?: unknown;
  readonly dueMs?: number;
  readonly durationMs?: number;
}

export interface ShownRow {
  readonly runId: string;
  readonly functionId: string;
  readonly seq: number;
  readonly at: string;
  readonly atMs: number;
  readonly status: string | null;
  readonly facts: readonly ShownFact[];
}

/** What most people want to know; the rest is how the gateway gets there. */
const TELLING: ReadonlySet<string> = new Set([
  "RUN_CREATED",
  "RUN_REVIVED",
  "STEP_COMPLETED",
  "STEP_FAILED",
  "STEP_ATTEMPT_FAILED",
  "STEP_WAITING",
  "PASS_FAILED",
  "LEASE_LOST",
  "STALLED",
  "COMMITS_LOST",
  "RUN_COMPLETED",
  "RUN_FAILED",
  "RUN_CANCELLED",
]);

export const isTelling = ({ kind }: ShownFact): boolean => TELLING.has(kind);

export type Tone = "good" | "bad" | "warning" | "plain" | "quiet";

export interface FactText {
  readonly text: string;
  readonly tone: Tone;
}

export function factText(fact: ShownFact, atMs: number): FactText {
  const { kind, error, dueMs, durationMs, attempt } = fact;
  const step = oneLine(fact.step?.name ?? "a step");
  const why = error === undefined ? "" : `: ${errorLine(error)}`;
  const took = durationMs === undefined ? "" : ` in ${durationText(durationMs)}`;
  const next = dueMs === undefined ? "" : `, next in ${durationText(Math.max(0, dueMs - atMs))}`;
  switch (kind) {
    case "RUN_CREATED":
      return { text: "created", tone: "plain" };
    case "RUN_REVIVED":
      return { text: "goes on", tone: "plain" };
    case "STEP_COMPLETED":
      return { text: `${step} completed${took}`, tone: "plain" };
    case "STEP_FAILED":
      return { text: `${step} failed${why}`, tone: "bad" };
    case "STEP_ATTEMPT_FAILED":
      return { text: `${step} failed, attempt ${attempt + 1}${next}${why}`, tone: "warning" };
    case "PASS_FAILED":
      return { text: `failed, attempt ${attempt + 1}${next}${why}`, tone: "warning" };
    case "STEP_WAITING":
      return {
        text: `${step} waits${dueMs === undefined ? "" : `, at most ${durationText(dueMs - atMs)}`}`,
        tone: "quiet",
      };
    case "LEASE_LOST":
      return { text: "its worker was lost; another one takes over", tone: "warning" };
    case "STALLED":
      return { text: "its worker's main thread is blocked", tone: "warning" };
    case "COMMITS_LOST":
      return { text: "the database had forgotten writes of it", tone: "warning" };
    case "RUN_COMPLETED":
      return { text: "completed", tone: "good" };
    case "RUN_FAILED":
      return { text: `failed${why}`, tone: "bad" };
    case "RUN_CANCELLED":
      return { text: `cancelled${why}`, tone: "warning" };
    default:
      return { text: oneLine(kind.toLowerCase().replaceAll("_", " ")), tone: "quiet" };
  }
}

const COLOURS: Readonly<Record<Tone, number>> = { good: 32, bad: 31, warning: 33, plain: 0, quiet: 90 };

export const painted = (text: string, tone: Tone, colours: boolean): string =>
  colours && COLOURS[tone] !== 0 ? `\u001b[${COLOURS[tone]}m${text}\u001b[0m` : text;

/** A line for each fact: time, run, function, what happened. */
export function rowLines(row: ShownRow, options: { readonly all: boolean; readonly colours: boolean }): string {
  const { colours, all } = options;
  const head = `${painted(row.at.slice(11, 19), "quiet", colours)} ${row.runId}  ${oneLine(row.functionId)}  `;
  return row.facts
    .filter((fact) => all || isTelling(fact))
    .map((fact) => factText(fact, row.atMs))
    .map(({ text, tone }) => `${head}${painted(text, tone, colours)}\n`)
    .join("");
}
