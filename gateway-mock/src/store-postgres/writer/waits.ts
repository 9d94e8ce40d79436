/** Statements for waits within a batch, and the locks of signals, of which only one step may wait for each. */
import type { NewWait, WaitKey } from "@holdfast/store";
import type { Statement } from "../connection/database.ts";
import { intervalOf, numberArray, rowsOf, textArray } from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";

interface SignalRow {
  readonly name: string;
  readonly run_id: string;
  readonly key: string;
}

/** Any number that no other worker in this database takes advisory locks with. */
const SIGNAL_LOCKS = 1_213_154_386;

const LOCK_NAMES = `SELECT pg_advisory_xact_lock(${SIGNAL_LOCKS}, hashtext(n)) FROM unnest($1::text[]) n`;
const READ_SIGNALS = `SELECT name, run_id, key FROM holdfast.waits
WHERE kind = 'signal' AND name = ANY($1::text[]) ORDER BY name FOR UPDATE`;

/** Also a signal that nothing waits for can be locked: of two who begin to wait for it one comes first. */
export async function lockSignals(query: Query, signals: readonly string[]): Promise<SignalRow[]> {
  const names = textArray(signals);
  const [, rows] = await Promise.all([query(LOCK_NAMES, [names]), query<SignalRow>(READ_SIGNALS, [names])]);
  return rows;
}

/** Each half by its own index: with OR between a list and a look-up the whole table is read. */
export function deleteWaits(waits: readonly WaitKey[], runIds: readonly string[]): Statement[] {
  const ofRuns = textArray(runIds);
  const byKey = {
    text: `DELETE FROM holdfast.waits w USING unnest($1::text[], $2::text[]) AS n(run_id, key)
WHERE w.run_id = n.run_id AND w.key = n.key AND w.run_id = ANY($1::text[]) AND w.run_id <> ALL($3::text[])`,
    params: [textArray(waits.map(({ runId }) => runId)), textArray(waits.map(({ key }) => key)), ofRuns],
  };
  const all = { text: "DELETE FROM holdfast.waits w WHERE w.run_id = ANY($1::text[])", params: [ofRuns] };
  return [...(waits.length > 0 ? [byKey] : []), ...(runIds.length > 0 ? [all] : [])];
}

export function insertWaits(waits: readonly NewWait[]): Statement {
  return {
    text: `INSERT INTO holdfast.waits (run_id, key, kind, name, expression, match, began_at, expires_at)
SELECT run_id, key, kind, name, expression, match, now(), now() + ${intervalOf("expires")}
FROM ${rowsOf({
      run_id: "$1::text[]",
      key: "$2::text[]",
      kind: "$3::text[]",
      name: "$4::text[]",
      expression: "$5::text[]",
      match: "$6::text[]",
      expires: "$7::float8[]",
    })}
ON CONFLICT (run_id, key) DO NOTHING`,
    params: [
      textArray(waits.map((wait) => wait.runId)),
      textArray(waits.map((wait) => wait.key)),
      textArray(waits.map((wait) => wait.kind)),
      textArray(waits.map((wait) => wait.name)),
      textArray(waits.map((wait) => wait.expression ?? null)),
      textArray(waits.map((wait) => wait.match ?? "")),
      numberArray(waits.map((wait) => wait.expiresInMs ?? null)),
    ],
  };
}
