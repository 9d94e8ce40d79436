/** How runs and their steps look on a terminal. Pure; what comes from apps cannot send the terminal commands. */
import { foldFrames, isShownError, partsOf, stackFrames } from "@holdfast/core";
import { cutText } from "./cut-text.ts";
import { oneLine, tableText, visible } from "./table.ts";

/** A run as the HTTP API shows it, as far as it is shown here. */
export interface ShownRun {
  readonly id: string;
  readonly functionId: string;
  readonly environment: string;
  readonly appVersion: string;
  readonly status: string;
  readonly eventId: string;
  readonly eventName: string;
  readonly output: unknown;
  readonly error: unknown;
  readonly createdMs: number;
  readonly startedMs: number | null;
  readonly endedMs: number | null;
  /** The graph that it is of; a gateway of an earlier version does not say. */
  readonly graph?: ShownGraphOfRun | null;
  /** Why it has not ended; null when it has. In lists only where it was asked for. */
  readonly waiting?: { readonly reason: string; readonly message: string } | null;
}

interface ShownGraphOfRun {
  /** Null: it is not stored any more, or never was. */
  readonly id: string | null;
  readonly tenant: string | null;
  readonly version: number | null;
  readonly test: boolean;
}

interface ShownStep {
  readonly name: string | null;
  readonly op: string;
  readonly status: string;
  readonly attempt: number;
  readonly failedAttempts: readonly { readonly attempt: number; readonly atMs: number; readonly error: unknown }[];
  /** As its worker measured it; null for what no worker runs, such as a wait. */
  readonly durationMs: number | null;
  readonly startedMs?: number | null;
  readonly openedMs?: number | null;
  readonly endedMs?: number | null;
  readonly dueMs: number | null;
  readonly error?: unknown;
}

export interface ShownRunDetail extends ShownRun {
  readonly maxAttempts: number | null;
  readonly steps: readonly ShownStep[];
  /** A gateway of an earlier version does not say. */
  readonly running?: readonly { readonly name: string | null; readonly sinceMs: number }[];
  readonly rerunOf?: string | null;
  readonly forkedFrom?: { readonly runId: string; readonly step: string } | null;
  readonly descendants?: readonly { readonly runId: string; readonly kind: string; readonly step: string | null }[];
  readonly commitsLost?: readonly { readonly atMs: number; readonly writes: number; readonly restored: number }[];
  readonly hold?: { readonly reason: string; readonly heldMs: number } | null;
  readonly log?: readonly {
    readonly seq: number;
    readonly atMs: number;
    readonly kind: string;
    readonly key: string;
  }[];
}

export const isEnded = ({ endedMs }: ShownRun): boolean => endedMs !== null;

/** With `withReasons` the last column says why a run waits where it has not failed. */
export function runsText(runs: readonly ShownRun[], columns: number, withReasons = false): string {
  // Many gateways have no graphs.
  const hasGraphs = runs.some(({ graph }) => graph);
  const rows = runs.map((run) => [
    run.id,
    run.functionId,
    ...(hasGraphs ? [run.graph ? graphText(run.graph) : ""] : []),
    run.status.toLowerCase(),
    timeText(run.createdMs),
    tookText(run),
    run.error === null ? (run.waiting?.message ?? "") : errorLine(run.error),
  ]);
  const last = withReasons ? "WHY" : "ERROR";
  const headings = ["RUN", "FUNCTION", ...(hasGraphs ? ["GRAPH"] : []), "STATUS", "CREATED", "TOOK", last];
  return tableText(headings, rows, columns);
}

/** `onboarding@3`; with its tenant `acme/onboarding@3`. */
function graphText({ id, tenant, version, test }: ShownGraphOfRun): string {
  if (id === null) return test ? "(test)" : `(deleted)@${version}`;
  return `${tenant ? `${tenant}/` : ""}${id}@${version}`;
}

/** With `isCut` long values are cut, for people who look at a terminal. */
export function runText(run: ShownRunDetail, columns: number, isCut = false): string {
  const shown = isCut ? cutText : (text: string) => text;
  const head = [
    ["run", run.id],
    ["function", run.functionId],
    ...(run.graph ? [["graph", graphText(run.graph)]] : []),
    ["status", run.status.toLowerCase()],
    ["event", `${run.eventName} (${run.eventId})`],
    ["version", run.appVersion],
    ["environment", run.environment],
    ...originLines(run),
    ["created", timeText(run.createdMs)],
    ["took", tookText(run)],
    ...(run.waiting ? [["why", run.waiting.message]] : []),
    ...(run.hold ? [["on hold", `since ${timeText(run.hold.heldMs)}: ${run.hold.reason}`]] : []),
    ...(run.commitsLost ?? []).map((loss) => ["lost", lossText(loss)]),
    ...(run.output === null ? [] : [["result", shown(JSON.stringify(run.output))]]),
  ].filter(([, value]) => value !== "");
  const parts = [
    head.map(([name = "", value = ""]) => `${name.padEnd(13)}${oneLine(value)}\n`).join(""),
    run.steps.length + (run.running ?? []).length === 0 ? "" : `\n${stepsText(run, columns)}`,
    errorsText(run, shown),
    run.log === undefined ? "" : `\n${logText(run.log, columns)}`,
  ];
  return parts.join("");
}

type ShownLoss = NonNullable<ShownRunDetail["commitsLost"]>[number];

function lossText({ atMs, writes, restored }: ShownLoss): string {
  const gone = writes - restored;
  const what = `COMMITS_LOST ${timeText(atMs)}: the database had forgotten ${writes} of its writes`;
  return gone === 0
    ? `${what}; all of them were restored`
    : `${what}; ${gone} could not be restored, so steps may run again`;
}

/** Where it comes from, and what was made of it. */
function originLines({ rerunOf, forkedFrom, descendants = [] }: ShownRunDetail): string[][] {
  return [
    ...(rerunOf ? [["rerun of", rerunOf]] : []),
    ...(forkedFrom ? [["forked from", `${forkedFrom.runId}, at "${forkedFrom.step}"`]] : []),
    ...descendants.map(({ runId, kind, step }) => [kind, step === null ? runId : `${runId}, at "${step}"`]),
  ];
}

/** The methods of `step` that make them. */
const KINDS: Readonly<Record<string, string>> = {
  StepRun: "run",
  Sleep: "sleep",
  WaitForEvent: "waitForEvent",
  WaitForSignal: "waitForSignal",
  InvokeFunction: "invoke",
  Gateway: "fetch",
  AIGateway: "ai.infer",
};

/** Of what no worker runs, from its beginning to its end. */
function stepTookText({ durationMs, openedMs, startedMs, endedMs }: ShownStep): string {
  if (durationMs !== null) return durationText(durationMs);
  const fromMs = openedMs ?? startedMs ?? null;
  return fromMs === null || endedMs === undefined || endedMs === null ? "" : durationText(endedMs - fromMs);
}

function stepsText({ steps, running = [], maxAttempts }: ShownRunDetail, columns: number): string {
  const atWork = new Map(running.map(({ name, sinceMs }) => [name, `running since ${timeText(sinceMs)}`]));
  const open = steps.filter(({ status }) => status === "planned" || status === "retrying");
  const isListed = (name: string | null): boolean => open.some((step) => step.name === name);
  const others = running.filter(({ name }) => !isListed(name));
  const ofSteps = steps.map((step) => [
    step.name ?? "-",
    KINDS[step.op] ?? step.op,
    (open.includes(step) && atWork.get(step.name)) || step.status,
    step.failedAttempts.length === 0 ? "" : `${step.attempt + 1}${maxAttempts === null ? "" : ` of ${maxAttempts}`}`,
    stepTookText(step),
    step.dueMs === null ? "" : timeText(step.dueMs),
  ]);
  const rows = [...ofSteps, ...others.map(({ name }) => [name ?? "-", "run", atWork.get(name) ?? "", "", "", ""])];
  return tableText(["STEP", "KIND", "STATUS", "ATTEMPT", "TOOK", "DUE"], rows, columns);
}

/** The last error of each step that failed or is retried, and the run's own where it is another one. */
function errorsText(run: ShownRunDetail, shown: (text: string) => string): string {
  const ofSteps = run.steps.flatMap(({ name, error, failedAttempts, status }) => {
    // A step that completed once its run was resumed has the error of before on record.
    const last = status === "completed" ? null : (error ?? failedAttempts.at(-1)?.error ?? null);
    return last === null ? [] : [{ where: `step "${name ?? "-"}"`, text: stackOf(last) }];
  });
  const own = run.error === null ? [] : [{ where: "run", text: stackOf(run.error) }];
  return [...ofSteps, ...own.filter(({ text }) => ofSteps.every((one) => one.text !== text))]
    .map(({ where, text }) => `\nError of the ${visible(where)}:\n${indented(shown(text))}\n`)
    .join("");
}

function logText(log: NonNullable<ShownRunDetail["log"]>, columns: number): string {
  const rows = log.map(({ seq, atMs, kind, key }) => [String(seq), timeText(atMs), kind, key]);
  return tableText(["SEQ", "AT", "FACT", "KEY"], rows, columns);
}

function fieldOf(error: unknown, name: string): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const value: unknown = Object.entries(error).find(([key]) => key === name)?.[1];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function errorLine(error: unknown): string {
  const message = fieldOf(error, "message") ?? JSON.stringify(error);
  const name = fieldOf(error, "name");
  return oneLine(withCode(name === undefined || name === "Error" ? message : `${name}: ${message}`, error));
}

/** What `explain` takes, where the text does not have it. */
function withCode(text: string, error: unknown): string {
  const code = fieldOf(error, "code");
  return code === undefined || text.includes(code) ? text : `${text} (${code})`;
}

const MAX_DEPTH = 3;

/**
 * With the frames of Holdfast and Node folded, and below it what it was caused by and what it is made of; `--json` has the
 * whole stacks.
 */
function stackOf(error: unknown): string {
  return [errorText(error), ...partTexts(error, 0)].join("\n");
}

function partTexts(error: unknown, depth: number): readonly string[] {
  if (depth >= MAX_DEPTH || !isShownError(error)) return [];
  return partsOf(error).flatMap(({ heading, error: part, isCause }) => {
    const frames = foldFrames(stackFrames(part?.stack ?? "")).map((frame) => `    ${frame}`);
    const below = part ? partTexts(part, depth + 1) : [];
    const said = part ? withCode(heading, part) : heading;
    return [visible([`  ${said}`, ...frames].join("\n")), ...below.map((text) => (isCause ? text : indented(text)))];
  });
}

function errorText(error: unknown): string {
  const stack = fieldOf(error, "stack");
  if (stack === undefined) return visible(errorLine(error));
  const frames = stackFrames(stack);
  const said = frames.length === 0 ? stack : stack.slice(0, stack.indexOf(frames[0] ?? "")).trimEnd();
  const message = withCode(said, error);
  return visible([message, ...foldFrames(frames).map((frame) => `    ${frame}`)].join("\n"));
}

const indented = (text: string): string =>
  text
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");

export const timeText = (ms: number): string => new Date(ms).toISOString();

function tookText({ startedMs, endedMs }: ShownRun): string {
  return startedMs === null || endedMs === null ? "" : durationText(endedMs - startedMs);
}

export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60 ? `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s` : `${(minutes / 60).toFixed(1)} h`;
}
