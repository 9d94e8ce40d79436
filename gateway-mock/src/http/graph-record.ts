/** What is on record of a graph's run, as what works out the state of its nodes takes it. */
import { JsonText, readRunCreated, sha1Hex } from "@holdfast/engine";
import type { GraphSnapshot, RunRecord, StepFact } from "@holdfast/graph/definition";
import type { RunDetail, StoredLogRow } from "@holdfast/store";
import { type StepView, stepViews } from "./run-view.ts";

export function graphRecordOf({ head, log }: RunDetail): RunRecord {
  const { id: runId, status, createdMs, endedMs, outputJson, errorJson } = head;
  return {
    runId,
    snapshot: snapshotIn(log),
    status,
    createdMs,
    endedMs,
    output: outputJson === null ? null : JSON.parse(outputJson),
    error: errorJson === null ? null : JSON.parse(errorJson),
    steps: stepFacts(log),
    digest: sha1Hex,
  };
}

/** What the gateway has written there: runs of graphs are marked. */
function snapshotIn(log: readonly StoredLogRow[]): GraphSnapshot {
  const created = log.find(({ kind }) => kind === "RUN_CREATED");
  const { eventText } = readRunCreated(created?.dataJson ?? '{"run":{},"event":{}}');
  return (JSON.parse(eventText) as { readonly data: GraphSnapshot }).data;
}

/** Those that have ended in the order in which they did, then the others. */
function stepFacts(log: readonly StoredLogRow[]): StepFact[] {
  const places = new Map<string, number>();
  for (const [index, { kind, key }] of log.entries()) {
    if (kind === "STEP_COMPLETED" || kind === "STEP_FAILED") places.set(key, index);
  }
  const placeOf = ({ id, endedMs }: StepView): number =>
    endedMs === null ? Number.POSITIVE_INFINITY : (places.get(id) ?? Number.POSITIVE_INFINITY);
  const steps = stepViews(log).map((step) => ({ step, place: placeOf(step) }));
  return steps.sort((a, b) => (a.place === b.place ? 0 : a.place - b.place)).map(({ step }) => factOf(step));
}

function factOf({ id, status, attempt, startedMs, endedMs, dueMs, output, error, openedMs }: StepView): StepFact {
  const hasBegun = status !== "planned";
  return {
    id,
    status,
    attempts: status === "retrying" ? attempt : hasBegun ? attempt + 1 : 0,
    startedMs: startedMs ?? openedMs,
    endedMs,
    dueMs,
    ...(output === undefined ? {} : { output: jsonOf(output) }),
    ...(error === undefined ? {} : { error: jsonOf(error) }),
  };
}

const jsonOf = (stored: unknown): unknown => (stored instanceof JsonText ? JSON.parse(stored.text) : stored);
