/**
 * Commits one batch in one transaction: optimistically in one round trip, else with locks in two (docs/decisions/0030).
 * The rules of what is written are pure, in packages/store/src/rules.
 */
import {
  type BatchPlan,
  expectRows,
  type LockedRows,
  type Needs,
  needsOf,
  type OptimisticBackoff,
  outcomesOf,
  placesOf,
  planBatch,
  type Unit,
  type UnitOutcome,
} from "@holdfast/store";
import type { Statement } from "../connection/database.ts";
import { ConnectionLost, codeOf, UNIQUE_VIOLATION } from "../connection/pg-errors.ts";
import type { Query } from "../connection/query.ts";
import type { WriterSession } from "../connection/writer-session.ts";

import { readAwaited } from "./awaited.ts";
import { expectNew, expectNewFacts, type LogAnswer, newerOf, TAKE_NUMBERS } from "./log.ts";
import { sendLong } from "./long-rows.ts";
import { type ExpectedLocks, expectMark, isPreconditionFailure, lockExpected, MARKED } from "./preconditions.ts";
import {
  type BatchMark,
  firstStatement,
  lockRows,
  type Marked,
  type PlannedWrites,
  READ_MARK,
  type TimeOfMark,
  timeOfMark,
  writesOf,
} from "./sql.ts";
import { answering } from "./together.ts";

/** A batch whose COMMIT was sent: if the connection breaks now, it may have been committed or not. */
export interface SentBatch {
  readonly number: number;
  readonly plan: BatchPlan;
}

export interface CommitHooks {
  /** Called just before COMMIT is sent. */
  readonly onSent: (sent: SentBatch) => void;
  /** Counted up: statements that were sent, and batches that took one round trip. */
  readonly stats: { statements: number; optimistic: number };
  readonly backoff: OptimisticBackoff;
}

/** What a commit works with. */
interface Work {
  readonly session: WriterSession;
  readonly query: Query;
  readonly mark: BatchMark;
  readonly units: readonly Unit[];
  readonly needs: Needs;
  readonly hooks: CommitHooks;
}

/**
 * One transaction. Mostly one round trip: the rows it needs are expected, and everything is sent at once, under the
 * condition that it is found. Where nothing can be expected, or it was not so, two: lock and read, decide here, write
 * and commit. All statements of a trip are sent before the first answer is there. Rejects with the driver's error;
 * after anything but a lost connection the transaction has been rolled back.
 */
export async function commitBatch(
  session: WriterSession,
  mark: BatchMark,
  units: readonly Unit[],
  hooks: CommitHooks,
): Promise<readonly UnitOutcome[]> {
  let isOver = false;
  const query: Query = (text, params) => {
    // Rows that are sent one by one would come after the transaction, each as one of its own.
    if (isOver) return Promise.reject(new ConnectionLost("The transaction is over"));
    hooks.stats.statements += 1;
    return session.query(text, params);
  };
  const needs = needsOf(units);
  const work: Work = { session, query, mark, units, needs, hooks };
  try {
    const expected = expectRows(units, needs, hooks.backoff.awaited);
    const done = expected && hooks.backoff.shouldTry() ? await commitOptimistically(work, expected) : null;
    return done ?? (await commitWithLocks(work));
  } catch (error) {
    isOver = true;
    if (session.alive) {
      hooks.stats.statements += 1;
      // What was sent before is answered first, so the session is clean once this has been answered.
      await session.guard(session.query("ROLLBACK")).catch(() => session.end());
    }
    throw error;
  }
}

/** Null: something was not as expected. Nothing was written; the transaction is over once what was sent is answered. */
async function commitOptimistically(work: Work, found: LockedRows): Promise<readonly UnitOutcome[] | null> {
  const { session, units, needs, mark, hooks } = work;
  const plan = planBatch(units, found);
  const asksLog = plan.writes.logs.length + needs.additions.length > 0;
  hooks.onSent({ number: mark.batch, plan });
  try {
    const { marked, told } = await session.guard(sendExpected(work, found, plan, asksLog));
    hooks.stats.optimistic += 1;
    hooks.backoff.succeeded();
    if (found.awaited.size > 0) hooks.backoff.recordAwaited([...found.awaited], readAwaited(marked?.awaited));
    const newer = told ? newerOf(told) : new Map();
    return outcomesOf(units, plan, { atMs: timeOfMark(marked), seqs: seqsOf(plan, told), newer });
  } catch (error) {
    const isRepeat = needs.repeatedEvents.length > 0 && codeOf(error) === UNIQUE_VIOLATION;
    if (!isRepeat && !isPreconditionFailure(error)) throw error;
    hooks.backoff.failed();
    return null;
  }
}

interface Answered {
  readonly marked: Marked | undefined;
  readonly told: LogAnswer | undefined;
}

/**
 * One round trip: a statement that is a transaction by itself, with the locks where there are any; else the locks, in a
 * statement of their own with what is a lock itself, and then what is looked up under them and written. Where a condition
 * does not hold, everything after it fails for that.
 */
async function sendExpected(
  { query, needs, mark }: Work,
  found: LockedRows,
  { writes }: BatchPlan,
  asksLog: boolean,
): Promise<Answered> {
  const send = ({ text, params }: Statement): Promise<object[]> => query(text, params);
  const setMark = expectMark(needs, found, mark);
  const locks = lockExpected(found, needs, writes, setMark);
  const planned = writesOf(locks ? locks.left : writes);
  const log = asksLog ? expectNewFacts(needs.additions) : null;
  const alone = locks ? besideLocks(locks, needs, planned) : asOne(setMark, log, planned);
  if (alone) {
    const [row] = (await send(alone)) as (Marked & LogAnswer)[];
    return { marked: row, told: log ? row : undefined };
  }
  const statement = locks
    ? answering(locks.parts, [], locks.answer)
    : answering({ mark: setMark }, [], `SELECT ${MARKED}`);
  const begun = [query("BEGIN"), send(statement)] as const;
  // Not before everything is sent, also where the answer to the first of it is an error.
  const told = await writeAndCommit(query, planned, log, begun);
  const [marked] = (await begun[1]) as Marked[];
  return { marked, told };
}

/** Null: something has to be written after the rest. */
function asOne(setMark: Statement, log: Statement | null, { first, long, second }: PlannedWrites): Statement | null {
  if (long.length + second.length > 0) return null;
  const parts = { mark: setMark, ...(log ? { log } : {}) };
  return answering(parts, first, log ? `SELECT ${MARKED}, log.* FROM log` : `SELECT ${MARKED}`);
}

/**
 * The same with locks. What it reads by itself is as it was before it waited for them, so it may write only what no one
 * else can have added meanwhile, without a version that is not the expected one: waits are, jobs are left to a statement
 * after the locks.
 */
function besideLocks(
  { parts, answer, left }: ExpectedLocks,
  { additions }: Needs,
  { first, long, second }: PlannedWrites,
): Statement | null {
  const { heads, removeJobs, removeJobsOfRuns } = left;
  const isLate = long.length + second.length + heads.length + removeJobs.length + removeJobsOfRuns.length > 0;
  if (isLate || additions.length === 0) return null;
  const locked = { text: answer, params: [] };
  const log = expectNewFacts(additions, LOG_BESIDE_LOCKS);
  return answering({ ...parts, locked, log }, first, "SELECT locked.at_ms, locked.awaited, log.* FROM locked, log");
}

/** The function is called for the row of `locked`, which is there when all locks are held. */
const LOG_BESIDE_LOCKS = `SELECT l.base, l.newer FROM locked CROSS JOIN LATERAL ${expectNew("locked.at_ms")} l`;

async function commitWithLocks(work: Work): Promise<readonly UnitOutcome[]> {
  const { session, query, mark, units, needs, hooks } = work;
  const begun = query("BEGIN");
  const [, { found, atMs, newer }] = await session.guard(Promise.all([begun, lockRows(query, needs, mark)]));
  hooks.backoff.recordAwaited(needs.eventNames, found.awaited);
  const plan = planBatch(units, found);
  hooks.onSent({ number: mark.batch, plan });
  const takesNumbers = plan.writes.logs.length > 0 ? TAKE_NUMBERS : null;
  const log = await session.guard(writeAndCommit(query, writesOf(plan.writes), takesNumbers));
  return outcomesOf(units, plan, { atMs, seqs: seqsOf(plan, log), newer });
}

/** What `log` answers; undefined without it. `begun`: what was sent before, and may not be answered yet. */
async function writeAndCommit(
  query: Query,
  { first, long, second }: PlannedWrites,
  log: Statement | null,
  begun: readonly Promise<unknown>[] = [],
): Promise<LogAnswer | undefined> {
  const send = ({ text, params }: Statement): Promise<object[]> => query(text, params);
  const sent = firstStatement(first, log).map(send);
  const before = [...begun, ...sent];
  const rows = long.length > 0 ? await sendLong(query, long, before) : before;
  const written = Promise.all([...sent, ...second.map(send), query("COMMIT")]);
  const [[[told] = []]] = await Promise.all([written, Promise.all(rows)]);
  return log ? (told as LogAnswer | undefined) : undefined;
}

function seqsOf({ writes }: BatchPlan, log: LogAnswer | undefined): readonly number[] {
  const base = Number(log?.base ?? 0);
  return placesOf(writes.logs).map((place) => base + place);
}

/** The outcomes of a batch whose connection broke after it was sent, or null when it was not committed. */
export async function recoverBatch(
  session: WriterSession,
  writerId: string,
  { number, plan }: SentBatch,
  units: readonly Unit[],
): Promise<readonly UnitOutcome[] | null> {
  const [mark] = await session.guard(session.query<TimeOfMark & { batch: number }>(READ_MARK, [writerId]));
  if (!mark || Number(mark.batch) !== number) return null;
  // Which rows came before, and what numbers its own have, was in the answers that were lost.
  return outcomesOf(units, plan, { atMs: timeOfMark(mark), seqs: null, newer: null });
}
