/** Heads of runs, as a batch changes them. */
import type { HeadWrite } from "@holdfast/store";
import type { Statement } from "../connection/database.ts";
import {
  booleanArray,
  isBetween,
  jsonList,
  numberArray,
  ownTextsOf,
  rowsOf,
  textArray,
  textsOf,
  timeOf,
} from "../connection/pg-values.ts";

const HEAD_COLUMNS = {
  id: "$1::text[]",
  version: "$2::int[]",
  status: "$3::text[]",
  job: "$4::text[]",
  ended: "$5::bool[]",
  error: textsOf("$6"),
  app_version: "$7::text[]",
};
const DEADLINE_COLUMNS = { moved: "$8::bool[]", deadline: "$9::float8[]" };

const EXPECTED = ` AND r.version = n.version - 1 AND r.status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED') RETURNING r.id`;

/** What `byLength` asks of a head. */
export const outputLength = ({ output }: HeadWrite): number => output?.length ?? 0;

export interface HeadsUpdate {
  /** Each output is a parameter of its own. */
  readonly isLong: boolean;
  /**
   * Only heads of live runs that have the version before are changed; the statement answers with the ids of those that
   * were. They are locked in the order of their ids.
   */
  readonly isExpected: boolean;
}

/**
 * In the order of their ids. Deadlines hardly ever change: without any the statement has no word of them. Partitions that
 * have none of the runs are left out: each would cost its locks and its part of the plan, with every batch.
 */
export function updateHeads(heads: readonly HeadWrite[], { isLong, isExpected }: HeadsUpdate): Statement {
  const rows = [...heads].sort((a, b) => (a.runId < b.runId ? -1 : 1));
  const deadlines = rows.some(({ deadlineMs }) => deadlineMs !== undefined);
  const outputs = rows.map(({ output }) => output);
  const last = deadlines ? 10 : 8;
  const output = isLong ? ownTextsOf(last, rows.length) : textsOf(`$${last}`);
  return {
    text: `UPDATE holdfast.runs r SET version = n.version, status = n.status,
  started_at = CASE WHEN n.status = 'PENDING' THEN r.started_at
    ELSE COALESCE(r.started_at, (SELECT q.claimed_at FROM holdfast.queue q WHERE q.id = n.job), now()) END,
  ended_at = CASE WHEN n.ended THEN now() END,
  output = n.output, error = n.error,
  app_version = COALESCE(n.app_version, r.app_version)${
    deadlines
      ? `,
  deadline_at = CASE WHEN n.moved THEN ${timeOf("n.deadline")} ELSE r.deadline_at END`
      : ""
  }
FROM ${rowsOf({ ...HEAD_COLUMNS, ...(deadlines ? DEADLINE_COLUMNS : {}), output })}
WHERE r.id = n.id AND ${isBetween("r.id", HEAD_COLUMNS.id)}${isExpected ? EXPECTED : ""}`,
    params: [
      textArray(rows.map((row) => row.runId)),
      numberArray(rows.map((row) => row.version)),
      textArray(rows.map((row) => row.status)),
      textArray(rows.map((row) => row.jobId)),
      booleanArray(rows.map((row) => row.ended)),
      jsonList(rows.map((row) => row.error)),
      textArray(rows.map((row) => row.appVersion)),
      ...(deadlines ? deadlineParams(rows) : []),
      ...(isLong ? outputs : [jsonList(outputs)]),
    ],
  };
}

const deadlineParams = (rows: readonly HeadWrite[]): string[] => [
  booleanArray(rows.map(({ deadlineMs }) => deadlineMs !== undefined)),
  numberArray(rows.map(({ deadlineMs }) => deadlineMs ?? null)),
];
