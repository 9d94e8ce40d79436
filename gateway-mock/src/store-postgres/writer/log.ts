/**
 * Statements of the writer for the run log: rows that it adds, and which facts are there already. A fact is looked for
 * only in rows after those that its writer had seen (docs/decisions/0058).
 */
import {
  type BatchAnswer,
  factKeyOf,
  type LogAddition,
  type LogWrite,
  type NewRun,
  type RunWrite,
} from "@holdfast/store";
import type { LogContext } from "../connection/compact-facts.ts";
import type { Statement } from "../connection/database.ts";
import { dataLength, dataList, dataTexts, factsText, type RowFacts, readFacts } from "../connection/log-rows.ts";
import { isBetween, numberArray, ownTextsOf, rowsOf, textArray, textsOf } from "../connection/pg-values.ts";
import { type SplitWrite, splitByLength } from "./long-rows.ts";

/** Rows of the runs after those that were seen. Run by run, so that each is a look into the index, however long the log. */
const newer = (columns: string, from: string): string => `SELECT ${columns} FROM ${from} CROSS JOIN LATERAL (
    SELECT x.seq, x.facts FROM holdfast.run_log x WHERE x.run_id = n.run_id AND x.seq > n.seen
      AND ${isBetween("x.run_id", "$1::text[]")} OFFSET 0) l`;

/** A block of numbers for a batch's rows, taken once its locks are held: later rows of a run have higher ones. */
const BASE = "nextval('holdfast.run_log_seq')::float8 AS base";

/** What `holdfast.expect_new` looks at (migration 027), once `locked` is known. */
export const expectNew = (locked: string): string =>
  `holdfast.expect_new(${locked}, $1::text[], $2::bigint[], $3::text[])`;
const EXPECT_NEW = `SELECT * FROM ${expectNew("NULL")}`;

/** What the log says to a batch that writes to it. */
export interface LogAnswer {
  readonly base: number;
  /** Rows after those that were seen, as JSON: lists of run and `seq`. Null = none. */
  readonly newer: string | null;
}

/**
 * Ends the transaction when one of these facts is in the log already, or may be under another name. Answers with a
 * `LogAnswer`. `text`: the same beside the locks, see `expectNew`.
 */
export function expectNewFacts(additions: readonly LogAddition[], text = EXPECT_NEW): Statement {
  if (additions.length === 0) return TAKE_NUMBERS;
  const sorted = [...additions].sort((a, b) => (a.runId < b.runId ? -1 : 1));
  return {
    text,
    params: [
      textArray(sorted.map(({ runId }) => runId)),
      numberArray(sorted.map(({ seen }) => seen)),
      textArray(sorted.map(({ facts }) => factsText(facts))),
    ],
  };
}

/** Answers with a `LogAnswer` whose `newer` is null: that was looked up before, or there is nothing to look for. */
export const TAKE_NUMBERS: Statement = { text: `SELECT ${BASE}, NULL AS newer`, params: [] };

const READ_NEWER = newer(
  "n.run_id, l.seq::float8 AS seq, l.facts",
  rowsOf({ run_id: "$1::text[]", seen: "$2::bigint[]" }),
);

export interface NewerRow {
  readonly run_id: string;
  readonly seq: number;
  readonly facts: string;
}

/** Rows that may hold facts of these additions; of each run once, from where the one that has seen least begins. */
export function readNewer(additions: readonly LogAddition[]): Statement {
  const seen = new Map<string, number>();
  for (const one of additions) seen.set(one.runId, Math.min(one.seen, seen.get(one.runId) ?? one.seen));
  const runIds = [...seen.keys()].sort();
  return { text: READ_NEWER, params: [textArray(runIds), numberArray(runIds.map((id) => seen.get(id) ?? 0))] };
}

export function factsOf(rows: readonly NewerRow[]): ReadonlySet<string> {
  return new Set(rows.flatMap((row) => readFacts(row.facts).map((fact) => factKeyOf(row.run_id, fact))));
}

export function newerByRun(rows: Iterable<readonly [string, number]>): NonNullable<BatchAnswer["newer"]> {
  const byRun = new Map<string, number[]>();
  for (const [runId, seq] of rows) {
    const list = byRun.get(runId);
    if (list) list.push(Number(seq));
    else byRun.set(runId, [Number(seq)]);
  }
  return byRun;
}

export const newerOf = ({ newer: text }: LogAnswer): NonNullable<BatchAnswer["newer"]> =>
  newerByRun(text === null ? [] : (JSON.parse(text) as [string, number][]));

/** Its event is said by its head: those who read the log have that, too. */
const contextFor = (runId: string, run: NewRun | undefined): LogContext =>
  run ? { runId, event: { id: run.eventId, name: run.eventName } } : { runId };

/** Beside a statement `log` that answers with a `LogAnswer`. */
const BASE_BESIDE = "(SELECT base FROM log)::bigint";
/** After it, in its transaction. */
const BASE_AFTER = "currval('holdfast.run_log_seq')";

/**
 * Rows are numbered from the `base` of a `LogAnswer` on; long ones come in the transaction after the statement that takes
 * it. `runs`: those that the batch makes.
 */
export function insertLog(logs: readonly LogWrite[], places: readonly number[], runs: readonly RunWrite[]): SplitWrite {
  const made = new Map(runs.map(({ run }) => [run.id, run]));
  const rows = logs.map((log, index) => {
    const context = contextFor(log.runId, made.get(log.runId));
    return { log, facts: log.facts, context, place: places[index] ?? 0 };
  });
  return splitByLength(rows, ({ facts }) => dataLength(facts), insertRows);
}

interface PlacedLog extends RowFacts {
  readonly log: LogWrite;
  readonly place: number;
}

function insertRows(rows: readonly PlacedLog[], isLong: boolean): Statement {
  return {
    text: `INSERT INTO holdfast.run_log (run_id, seq, at, version, status, facts, data)
SELECT run_id, ${isLong ? BASE_AFTER : BASE_BESIDE} + place, now(), version, status, facts, data
FROM ${rowsOf({
      run_id: "$1::text[]",
      place: "$2::int[]",
      version: "$3::int[]",
      status: "$4::text[]",
      facts: "$5::text[]",
      data: isLong ? ownTextsOf(6, rows.length) : textsOf("$6"),
    })}`,
    params: [
      textArray(rows.map(({ log }) => log.runId)),
      numberArray(rows.map(({ place }) => place)),
      numberArray(rows.map(({ log }) => log.version)),
      textArray(rows.map(({ log }) => log.status)),
      textArray(rows.map(({ facts }) => factsText(facts))),
      ...(isLong ? dataTexts(rows) : [dataList(rows)]),
    ],
  };
}
