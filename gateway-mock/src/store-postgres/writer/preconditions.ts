/**
 * Statements that fail a batch at once when the database is not as an optimistic plan expects it (docs/decisions/0030).
 */
import type { LockedRows, Needs } from "@holdfast/store";
import type { Statement } from "../connection/database.ts";
import { codeOf, NOT_AS_EXPECTED } from "../connection/pg-errors.ts";
import { isAmong, isRegistry, textArray } from "../connection/pg-values.ts";

import { type BatchMark, JOBS_BY_ID, JOBS_BY_ID_AND_RUN, jobParams, MARK_COLUMNS, SET_MARK } from "./sql.ts";

/** What `holdfast.expect` raises. */
export const isPreconditionFailure = (error: unknown): boolean => codeOf(error) === NOT_AS_EXPECTED;

/** Ends the transaction where it does not hold; where it does, as mostly, nothing is called. */
const expect = (condition: string): string => `CASE WHEN ${condition} THEN NULL ELSE holdfast.expect(false) END`;

/**
 * As the first statement of a batch that looks; ends the transaction when something waits for one of its events, or
 * when the registry is not the one that the batch was decided on.
 */
const MARK = `${SET_MARK} RETURNING ${MARK_COLUMNS}, ${expect(`NOT EXISTS (
  SELECT FROM holdfast.waits w WHERE w.name = ANY($3::text[]) AND w.kind IN ('event', 'cancel'))
  AND ${isRegistry("$4")}`)}`;

/** Locks jobs as a look does, and compares the fenced ones as one text. */
const expectJobs = (select: string, fences: string, text: string): string => `WITH q AS MATERIALIZED (${select})
SELECT ${expect(`COALESCE(string_agg(id || ' ' || epoch || ' ' || run_id, E'\\n' ORDER BY id)
  FILTER (WHERE id IN (SELECT unnest(${fences}::text[]))), '') = ${text}::text`)} FROM q`;
const EXPECT_JOBS = expectJobs(JOBS_BY_ID, "$2", "$3");
const EXPECT_JOBS_OF_RUNS = expectJobs(JOBS_BY_ID_AND_RUN, "$4", "$5");

const EXPECT_RUNS = `WITH r AS MATERIALIZED (
  SELECT id, version FROM holdfast.runs WHERE ${isAmong("id", "$1::text[]")} AND status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')
  ORDER BY id FOR UPDATE)
SELECT ${expect("COALESCE(string_agg(id || ' ' || version, E'\\n' ORDER BY id), '') = $2::text")} FROM r`;

/** The statements that take the place of a look: the same locks in the same order, or the transaction's end. */
export function preconditions({ jobs, runs, registryVersion }: LockedRows, needs: Needs, mark: BatchMark): Statement[] {
  const { jobIds, jobsOfRuns, passesOfRuns, runIds, eventNames } = needs;
  const byRun = jobsOfRuns.length + passesOfRuns.length > 0;
  const statements: Statement[] = [
    { text: MARK, params: [mark.writerId, mark.batch, textArray(eventNames), registryVersion] },
  ];
  if (jobIds.length > 0 || byRun) {
    const fences = jobIds.filter((id) => jobs.has(id));
    const text = fences.map((id) => `${id} ${jobs.get(id)?.epoch} ${jobs.get(id)?.runId}`).join("\n");
    const rest = [textArray(fences), text];
    if (byRun) statements.push({ text: EXPECT_JOBS_OF_RUNS, params: [...jobParams(needs), ...rest] });
    else statements.push({ text: EXPECT_JOBS, params: [textArray(jobIds), ...rest] });
  }
  if (runIds.length > 0) {
    const text = runIds.map((id) => `${id} ${runs.get(id)?.version}`).join("\n");
    statements.push({ text: EXPECT_RUNS, params: [textArray(runIds), text] });
  }
  return statements;
}
