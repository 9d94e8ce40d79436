/**
 * Statements that fail a batch at once when the database is not as an optimistic plan expects it (docs/decisions/0030).
 */
import type { LockedRows, Needs } from "@holdfast/store";
import type { Statement } from "../connection/database.ts";
import { codeOf, NOT_AS_EXPECTED } from "../connection/pg-errors.ts";
import { isAmong, isRegistry, textArray } from "../connection/pg-values.ts";

import { type BatchMark, JOBS_BY_ID, JOBS_BY_ID_AND_RUN, jobParams, MARK_COLUMNS, SET_MARK } from "./sql.ts";
import { answering } from "./together.ts";

/** What `holdfast.expect` raises. */
export const isPreconditionFailure = (error: unknown): boolean => codeOf(error) === NOT_AS_EXPECTED;

/** Ends the transaction where it does not hold; where it does, as mostly, nothing is called. */
const expect = (condition: string): string => `CASE WHEN ${condition} THEN NULL ELSE holdfast.expect(false) END`;

/**
 * The mark of a batch; ends the transaction when something waits for one of its events, or when the registry is not the
 * one that the batch was decided on.
 */
const MARK = `${SET_MARK} RETURNING ${MARK_COLUMNS}, ${expect(`NOT EXISTS (
  SELECT FROM holdfast.waits w WHERE w.name = ANY($3::text[]) AND w.kind IN ('event', 'cancel'))
  AND ${isRegistry("$4")}`)}`;

export const expectMark = (
  { eventNames }: Needs,
  { registryVersion }: LockedRows,
  { writerId, batch }: BatchMark,
): Statement => ({ text: MARK, params: [writerId, batch, textArray(eventNames), registryVersion] });

/** Answers with the time of `mark`; ends the transaction where that changed no row: the batch would have left no mark. */
export const MARKED = `(SELECT at_ms FROM mark) AS at_ms, ${expect("EXISTS (SELECT FROM mark)")}`;

/** Locks jobs as a look does, and compares the fenced ones as one text. */
const asExpected = (
  fences: string,
  text: string,
): string => `COALESCE(string_agg(id || ' ' || epoch || ' ' || run_id, E'\\n' ORDER BY id)
  FILTER (WHERE id IN (SELECT unnest(${fences}::text[]))), '') = ${text}::text`;
const EXPECT_JOBS = `SELECT ${asExpected("$2", "$3")} AS found FROM (${JOBS_BY_ID}) q`;
const EXPECT_JOBS_OF_RUNS = `SELECT ${asExpected("$4", "$5")} AS found FROM (${JOBS_BY_ID_AND_RUN}) q`;

/** Answers with one row, whose `found` says whether the jobs that are locked are those that were expected. */
function expectJobs({ jobs }: LockedRows, needs: Needs): Statement {
  const { jobIds, jobsOfRuns, passesOfRuns } = needs;
  const fences = jobIds.filter((id) => jobs.has(id));
  const text = fences.map((id) => `${id} ${jobs.get(id)?.epoch} ${jobs.get(id)?.runId}`).join("\n");
  const rest = [textArray(fences), text];
  if (jobsOfRuns.length + passesOfRuns.length === 0) return { text: EXPECT_JOBS, params: [textArray(jobIds), ...rest] };
  return { text: EXPECT_JOBS_OF_RUNS, params: [...jobParams(needs), ...rest] };
}

const EXPECT_RUNS = `SELECT COALESCE(string_agg(id || ' ' || version, E'\\n' ORDER BY id), '') = $2::text AS found FROM (
  SELECT id, version FROM holdfast.runs WHERE ${isAmong("id", "$1::text[]")} AND status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')
  ORDER BY id FOR UPDATE) r`;

function expectRuns({ runs }: LockedRows, { runIds }: Needs): Statement {
  const text = runIds.map((id) => `${id} ${runs.get(id)?.version}`).join("\n");
  return { text: EXPECT_RUNS, params: [textArray(runIds), text] };
}

/**
 * The statement that takes the place of a look, under the same locks in the same order: it ends the transaction where it
 * finds anything else. What is looked for under these locks has to be in a statement after it. Null: there is nothing to
 * be locked, so the batch can be one statement.
 */
export function lockExpected(found: LockedRows, needs: Needs, mark: Statement): Statement | null {
  const { jobIds, jobsOfRuns, passesOfRuns, runIds } = needs;
  const parts: Record<string, Statement> = {};
  if (jobIds.length + jobsOfRuns.length + passesOfRuns.length > 0) parts.jobs = expectJobs(found, needs);
  if (runIds.length > 0) parts.runs = expectRuns(found, needs);
  const names = Object.keys(parts);
  if (names.length === 0) return null;
  // One after the other, as they stand here.
  const conditions = names.map((name) => expect(`(SELECT found FROM ${name})`));
  return answering({ mark, ...parts }, [], `SELECT ${[MARKED, ...conditions].join(", ")}`);
}
