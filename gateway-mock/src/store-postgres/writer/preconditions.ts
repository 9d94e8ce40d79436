/**
 * Statements that fail a batch at once when the database is not as an optimistic plan expects it (docs/decisions/0030).
 */
import type { LockedRows, Needs, WriteSet } from "@holdfast/store";
import type { Statement } from "../connection/database.ts";
import { codeOf, NOT_AS_EXPECTED } from "../connection/pg-errors.ts";
import { byLength, isAmong, isRegistry, textArray } from "../connection/pg-values.ts";
import { awaitedOf, isAwaited } from "./awaited.ts";
import { outputLength, updateHeads } from "./heads.ts";
import {
  type BatchMark,
  JOBS_AND_THOSE_OF_RUNS,
  JOBS_BY_ID,
  JOBS_BY_ID_AND_RUN,
  jobParams,
  MARK_COLUMNS,
  SET_MARK,
} from "./sql.ts";

/** What `holdfast.expect` raises. */
export const isPreconditionFailure = (error: unknown): boolean => codeOf(error) === NOT_AS_EXPECTED;

/** Ends the transaction where it does not hold; where it does, as mostly, nothing is called. */
const expect = (condition: string): string => `CASE WHEN ${condition} THEN NULL ELSE holdfast.expect(false) END`;

/**
 * The mark of a batch; ends the transaction when something waits for one of its events of which it is not expected, or
 * when the registry is not the one that the batch was decided on. Answers which are waited for of those where it is.
 */
const MARK = `${SET_MARK} RETURNING ${MARK_COLUMNS}, ${awaitedOf("$5::text[]")} AS awaited, ${expect(`NOT EXISTS (
  SELECT FROM unnest($3::text[]) n WHERE ${isAwaited("n")}) AND ${isRegistry("$4")}`)}`;

export function expectMark(
  { eventNames }: Needs,
  { registryVersion, awaited }: LockedRows,
  { writerId, batch }: BatchMark,
): Statement {
  const others = awaited.size === 0 ? eventNames : eventNames.filter((name) => !awaited.has(name));
  return { text: MARK, params: [writerId, batch, textArray(others), registryVersion, textArray([...awaited])] };
}

/**
 * Answers with the time of `mark` and the awaited names; ends the transaction where that changed no row: the batch would
 * have left no mark.
 */
export const MARKED = `(SELECT at_ms FROM mark) AS at_ms, (SELECT awaited FROM mark) AS awaited,
  ${expect("EXISTS (SELECT FROM mark)")}`;

/** Locks jobs as a look does, and compares the fenced ones as one text. */
const asExpected = (
  fences: string,
  text: string,
): string => `COALESCE(string_agg(id || ' ' || epoch || ' ' || run_id, E'\\n' ORDER BY id)
  FILTER (WHERE id IN (SELECT unnest(${fences}::text[]))), '') = ${text}::text`;
const EXPECT_JOBS = `SELECT ${asExpected("$2", "$3")} AS found FROM (${JOBS_BY_ID}) q`;
const EXPECT_JOBS_OF_RUNS = `SELECT ${asExpected("$4", "$5")} AS found FROM (${JOBS_BY_ID_AND_RUN}) q`;

function fencesOf(
  { jobs }: LockedRows,
  jobIds: readonly string[],
): { readonly fences: string[]; readonly text: string } {
  const fences = jobIds.filter((id) => jobs.has(id));
  return { fences, text: fences.map((id) => `${id} ${jobs.get(id)?.epoch} ${jobs.get(id)?.runId}`).join("\n") };
}

/** Answers with one row, whose `found` says whether the jobs that are locked are those that were expected. */
function expectJobs(found: LockedRows, needs: Needs): Statement {
  const { jobIds, jobsOfRuns, passesOfRuns } = needs;
  const { fences, text } = fencesOf(found, jobIds);
  const rest = [textArray(fences), text];
  if (jobsOfRuns.length + passesOfRuns.length === 0) return { text: EXPECT_JOBS, params: [textArray(jobIds), ...rest] };
  return { text: EXPECT_JOBS_OF_RUNS, params: [...jobParams(needs), ...rest] };
}

/**
 * Rows that are removed need no lock of their own: their removal is one, in the order of the index. By a list of ids, not by
 * a join: planned while the queue was empty, that would read it from its beginning for each batch (docs/decisions/0177).
 */
const REMOVE_JOBS = `DELETE FROM holdfast.queue q WHERE q.id = ANY(${JOBS_AND_THOSE_OF_RUNS})
RETURNING q.id, q.run_id, q.epoch`;
const EXPECT_REMOVED = `SELECT ${asExpected("$1", "$2")} AS found FROM removed`;

/** Whether the batch removes all jobs that it needs: all of them are of runs that end. */
function removesAll({ jobs }: LockedRows, { jobIds, passesOfRuns }: Needs, { removeJobsOfRuns }: WriteSet): boolean {
  if (passesOfRuns.length > 0) return false;
  const runIds = new Set(removeJobsOfRuns);
  return jobIds.every((id) => runIds.has(jobs.get(id)?.runId ?? ""));
}

function removeExpected(found: LockedRows, { jobIds, jobsOfRuns }: Needs): Record<string, Statement> {
  const { fences, text } = fencesOf(found, jobIds);
  return {
    removed: { text: REMOVE_JOBS, params: [textArray(jobIds), textArray(jobsOfRuns)] },
    jobs: { text: EXPECT_REMOVED, params: [textArray(fences), text] },
  };
}

const EXPECT_RUNS = `SELECT COALESCE(string_agg(id || ' ' || version, E'\\n' ORDER BY id), '') = $2::text AS found FROM (
  SELECT id, version FROM holdfast.runs WHERE ${isAmong("id", "$1::text[]")} AND status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')
  ORDER BY id FOR UPDATE) r`;

function expectRuns({ runs }: LockedRows, { runIds }: Needs): Statement {
  const text = runIds.map((id) => `${id} ${runs.get(id)?.version}`).join("\n");
  return { text: EXPECT_RUNS, params: [textArray(runIds), text] };
}

/** Answers with one row, whose `found` says whether all heads were changed, each from the version that was expected. */
const EXPECT_CHANGED = "SELECT count(*) = $1::int AS found FROM changed";

/** What is left to be written after a statement that locks, and writes what needs no lock of its own. */
export interface ExpectedLocks {
  readonly parts: Readonly<Record<string, Statement>>;
  /** Answers with `Marked`; all locks are held by then. */
  readonly answer: string;
  readonly left: WriteSet;
}

/**
 * The statement that takes the place of a look, under the same locks in the same order: it ends the transaction where it
 * finds anything else. What is looked for under these locks has to be in a statement after it, or in a function that it
 * calls (`expectNew`): what it reads itself is as it was before it waited. Null: there is nothing to be locked.
 */
export function lockExpected(
  found: LockedRows,
  needs: Needs,
  writes: WriteSet,
  setMark: Statement,
): ExpectedLocks | null {
  const { jobIds, jobsOfRuns, passesOfRuns, runIds } = needs;
  const parts: Record<string, Statement> = {};
  const conditions: string[] = [];
  let left = writes;
  // Long outputs are written by a statement of their own, so not all heads would be changed in the order of their ids.
  const isShort = byLength(writes.heads, outputLength).long.length === 0;
  if (jobIds.length + jobsOfRuns.length + passesOfRuns.length > 0) {
    // A head that is changed later looks for the job that began the run.
    if (isShort && removesAll(found, needs, writes)) {
      Object.assign(parts, removeExpected(found, needs));
      left = { ...left, removeJobs: [], removeJobsOfRuns: [] };
    } else parts.jobs = expectJobs(found, needs);
    conditions.push("jobs");
  }
  if (runIds.length > 0) {
    if (isShort) {
      // Each of them is a decision on the version that it expects (`expectRows`): the head is locked by its change.
      parts.changed = updateHeads(writes.heads, { isLong: false, isExpected: true });
      parts.runs = { text: EXPECT_CHANGED, params: [runIds.length] };
      left = { ...left, heads: [] };
    } else parts.runs = expectRuns(found, needs);
    conditions.push("runs");
  }
  if (conditions.length === 0) return null;
  // One after the other, as they stand here.
  const expected = conditions.map((name) => expect(`(SELECT found FROM ${name})`));
  return { parts: { mark: setMark, ...parts }, answer: `SELECT ${[MARKED, ...expected].join(", ")}`, left };
}
