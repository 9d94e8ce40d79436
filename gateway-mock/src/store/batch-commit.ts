import { outcomesOf } from "./batch-outcome.ts";
import type { Plan, Unit, UnitOutcome } from "./batch-plan.ts";
import { needsOf, planBatch, rowKeyOf } from "./batch-plan.ts";
import {
  lookUp,
  READ_MARK,
  rowKeysOf,
  type Statement,
  type StoredRowKey,
  whichInserted,
  writeStatements,
} from "./batch-sql.ts";
import type { Query } from "./database.ts";
import type { WriterSession } from "./writer-session.ts";

/** A batch whose second half was sent: if the connection breaks now, it may have been committed or not. */
export interface SentBatch {
  readonly number: number;
  readonly xid: string;
  readonly atMs: number;
  readonly plan: Plan;
}

export interface CommitHooks {
  /** Called just before the half that ends in COMMIT is sent. */
  readonly onSent: (sent: SentBatch) => void;
  readonly onStatements: (count: number) => void;
}

/**
 * One transaction in two round trips: lock and look, decide here, write and commit. Every statement of a half is sent
 * before the first answer is there. Rejects with the driver's error; after anything but a lost connection the
 * transaction has been rolled back.
 */
export async function commitBatch(
  session: WriterSession,
  writerId: string,
  number: number,
  units: readonly Unit[],
  hooks: CommitHooks,
): Promise<readonly UnitOutcome[]> {
  let counted = 0;
  const query: Query = (text, params) => {
    counted += 1;
    return session.query(text, params);
  };
  try {
    const begun = query("BEGIN");
    const looked = lookUp(query, needsOf(units), { writerId, batch: number });
    const [, found] = await session.guard(Promise.all([begun, looked]));
    const plan = planBatch(units, found);
    const sent: SentBatch = { number, xid: found.xid, atMs: found.atMs, plan };
    hooks.onSent(sent);
    const newRows = await session.guard(writeAndCommit(query, plan));
    const fresh = newRows === plan.writes.logs.length ? null : await session.guard(readFresh(query, sent));
    return outcomes(sent, units, fresh);
  } catch (error) {
    // What was sent before is answered first, so the session is clean once this has been answered.
    if (session.alive) await session.guard(query("ROLLBACK")).catch(() => session.end());
    throw error;
  } finally {
    hooks.onStatements(counted);
  }
}

/** How many log rows were new. */
async function writeAndCommit(query: Query, plan: Plan): Promise<number> {
  const { statements, logIndex } = writeStatements(plan.writes);
  const send = ({ text, params }: Statement): Promise<object[]> => query(text, params);
  const answers = await Promise.all([...statements.map(send), query("COMMIT")]);
  return Number((answers[logIndex]?.[0] as { inserted?: number } | undefined)?.inserted ?? 0);
}

async function readFresh(query: Query, sent: SentBatch): Promise<ReadonlySet<string>> {
  const { text, params } = whichInserted(sent.plan.writes.logs, sent.xid);
  return rowKeysOf(await query<StoredRowKey>(text, params));
}

/** The outcomes of a batch whose connection broke after it was sent, or null when it was not committed. */
export async function recoverBatch(
  session: WriterSession,
  writerId: string,
  sent: SentBatch,
  units: readonly Unit[],
): Promise<readonly UnitOutcome[] | null> {
  const [mark] = await session.guard(session.query<{ batch: number }>(READ_MARK, [writerId]));
  if (Number(mark?.batch) !== sent.number) return null;
  const fresh = sent.plan.writes.logs.length === 0 ? null : await session.guard(readFresh(session.query, sent));
  return outcomes(sent, units, fresh);
}

/** `fresh` = keys of the log rows that were new; null = all were. Of two equal rows in one batch the first was. */
function outcomes(
  { plan, atMs }: Pick<SentBatch, "plan" | "atMs">,
  units: readonly Unit[],
  fresh: ReadonlySet<string> | null,
): readonly UnitOutcome[] {
  const left = fresh && new Set(fresh);
  const isNew = plan.writes.logs.map((write) => left === null || left.delete(rowKeyOf(write)));
  return outcomesOf(units, plan, isNew, atMs);
}
