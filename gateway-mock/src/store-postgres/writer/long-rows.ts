/**
 * Rows with long texts: they are sent one statement after the other, so that Postgres reads one while the next is made
 * (docs/decisions/0165).
 */
import type { Statement } from "../connection/database.ts";
import { inGroups } from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";

/** A statement whose texts are put together when it is its turn. */
export interface LongWrite {
  readonly length: number;
  readonly make: () => Statement;
}

/** What is written of some rows: of the short ones at most one statement. */
export interface SplitWrite {
  readonly short: readonly Statement[];
  readonly long: readonly LongWrite[];
}

export const NOTHING_SPLIT: SplitWrite = { short: [], long: [] };

export function splitByLength<Row>(
  rows: readonly Row[],
  lengthOf: (row: Row) => number,
  write: (rows: readonly Row[], isLong: boolean) => Statement,
): SplitWrite {
  if (rows.length === 0) return NOTHING_SPLIT;
  const { short, long } = inGroups(rows, lengthOf);
  return {
    short: short.length > 0 ? [write(short, false)] : [],
    long: long.map((group) => ({ length: group.length, make: () => write(group.rows, true) })),
  };
}

/** The driver writes a statement some promises after it was called: until then nothing else is made. */
const written = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/** So many characters are made and sent before Postgres has answered: enough that it never waits for the next. */
const MAX_UNANSWERED = 4 * 1024 * 1024;

/**
 * Sends one after the other. `before`: what was sent in the transaction so far, in its order.
 *
 * LONG-1. Each has been given to the connection before the texts of the next are put together.
 * LONG-2. At most `MAX_UNANSWERED` is sent and not answered, or one statement that is longer.
 * LONG-3. It resolves with what is not answered yet: a COMMIT after an error rolls back and is no error itself. Where it
 *     rejects, it is with the first error in the order of statements, and what it sent last ends the transaction.
 */
export async function sendLong(
  query: Query,
  writes: readonly LongWrite[],
  before: readonly Promise<unknown>[],
): Promise<readonly Promise<unknown>[]> {
  const unanswered = before.map((answer) => ({ answer, length: 0 }));
  for (const answer of before) answer.catch(() => {});
  let length = 0;
  try {
    for (const write of writes) {
      while (length > 0 && length + write.length > MAX_UNANSWERED) {
        const oldest = unanswered.shift();
        if (!oldest) break;
        await oldest.answer;
        length -= oldest.length;
      }
      await written();
      const { text, params } = write.make();
      const answer = query(text, params);
      answer.catch(() => {});
      unanswered.push({ answer, length: write.length });
      length += write.length;
    }
    return unanswered.map(({ answer }) => answer);
  } catch (error) {
    query("ROLLBACK").catch(() => {});
    throw error;
  }
}
