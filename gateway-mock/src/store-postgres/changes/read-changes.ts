/**
 * Reads the rows of the log that became visible after a position (`StoreChanges`). That a row is new is decided by the
 * transaction that wrote it, which Postgres keeps with each row; a BRIN index leads to the rows that were written lately,
 * the primary key to those of single runs (docs/decisions/0080).
 */
import {
  type ChangePage,
  type ChangeRequest,
  type LogChange,
  MAX_CHANGE_BYTES,
  type StoreChanges,
} from "@holdfast/store";
import { contextOf } from "../connection/compact-facts.ts";
import type { Database } from "../connection/database.ts";
import { readFacts } from "../connection/log-rows.ts";
import { msOf, textArray } from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";
import { LogFloor } from "./log-floor.ts";
import {
  invalidPosition,
  LAST_RUN,
  nextStage,
  type Position,
  type RowPlace,
  readPosition,
  type Snapshot,
  START,
  type Stage,
  writePosition,
} from "./position.ts";

const MAX_PAGE = 1000;
/** A block of numbers for each batch. */
const BLOCK = 1024;
/** So many numbers are looked through for a page, whether it becomes full or not. */
const WINDOW = 4096 * BLOCK;
/** Who comes back later than that begins anew. */
const MAX_BEHIND = 2 ** 20 * BLOCK;

/** The transaction of row `x` as a number that does not begin anew every 2^32: the last one that fits, before `n.top`. */
const WRITTEN_BY = "(n.top - ((n.top - x.xmin::text::bigint) & 4294967295))::text::xid8";

/** $1 seen, $2 next or null, $3 and $4 after, $5 and $6 up to or null, $7 rows, $8 from which number. */
const columns = `x.run_id, x.seq::float8 AS seq, ${msOf("x.at")} AS at_ms, x.status, x.facts,
  CASE WHEN octet_length(x.data) <= ${MAX_CHANGE_BYTES} THEN x.data END AS data`;
const conditions = `NOT pg_visible_in_snapshot(${WRITTEN_BY}, $1::pg_snapshot)
    AND ($2::pg_snapshot IS NULL OR pg_visible_in_snapshot(${WRITTEN_BY}, $2::pg_snapshot))
    AND (x.seq + 0, x.run_id) > ($3::bigint, $4::text COLLATE "C")
    AND ($5::bigint IS NULL OR (x.seq + 0, x.run_id) <= ($5::bigint, $6::text COLLATE "C"))`;

const read = (rows: string): string => `WITH n AS MATERIALIZED (
  SELECT pg_current_snapshot() AS snapshot, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS top
)
SELECT n.snapshot::text AS snapshot, GREATEST(pg_snapshot_xmax($1::pg_snapshot)::text::bigint, pg_snapshot_xmax($2::pg_snapshot)::text::bigint) > n.top AS is_ahead,
  (SELECT last_value FROM holdfast.run_log_seq)::float8 AS last, l.*
FROM n LEFT JOIN LATERAL (${rows} ORDER BY seq, run_id LIMIT $7) l ON true`;

/** $9 up to which number, $10 functions or null, $11 runs. Rows are looked for by number, their runs one by one. */
const OF_FUNCTIONS = read(`SELECT ${columns}, r.* FROM holdfast.run_log x
  CROSS JOIN LATERAL (SELECT f.function_id, f.event_id, f.event_name FROM holdfast.runs f WHERE f.id = x.run_id OFFSET 0) r
  WHERE x.seq + 0 >= $8::bigint AND x.seq + 0 <= $9::bigint AND ${conditions}
    AND ($10::text[] IS NULL OR r.function_id = ANY($10::text[]) OR x.run_id = ANY($11::text[]))`);
/** $9 runs. */
const OF_RUNS = read(`SELECT w.*, r.* FROM unnest($9::text[]) AS asked(id)
  CROSS JOIN LATERAL (SELECT ${columns} FROM holdfast.run_log x WHERE x.run_id = asked.id
    AND x.seq >= $8::bigint AND ${conditions} OFFSET 0) w
  CROSS JOIN LATERAL (SELECT f.function_id, f.event_id, f.event_name FROM holdfast.runs f WHERE f.id = w.run_id OFFSET 0) r`);

interface ChangeRow {
  readonly snapshot: Snapshot;
  readonly is_ahead: boolean;
  readonly last: number;
  /** Null where there is no row. */
  readonly run_id: string | null;
  readonly seq: number;
  readonly at_ms: number;
  readonly status: LogChange["status"];
  readonly facts: string;
  readonly data: string | null;
  readonly function_id: string;
  readonly event_id: string;
  readonly event_name: string;
}

/** What of the database is needed here. */
export interface ChangesDatabase {
  readonly query: Query;
  readonly options: Pick<Database["options"], "timers" | "monotonicMs">;
}

export function changesOf({ query, options: { timers, monotonicMs } }: ChangesDatabase): StoreChanges {
  const floor = new LogFloor({ query, timers, monotonicMs });
  const reader: Reader = { query, floor, begun: { next: START.seen, floor: 0 } };
  return {
    logStart: writePosition(START),
    async logEnd() {
      const known = await floor.fresh();
      const [row] = await query<{ snapshot: Snapshot }>("SELECT pg_current_snapshot()::text AS snapshot");
      return writePosition({ seen: row?.snapshot ?? START.seen, floor: known, within: null });
    },
    readChanges: (request) => readChanges(reader, request),
  };
}

interface Reader {
  readonly query: Query;
  readonly floor: LogFloor;
  /**
   * The last stage that began with what was visible then, and which numbers were settled. It may have many pages: where
   * numbers were left out, as after a loss of commits, its windows are empty, and the next stage is not to go through them.
   */
  begun: { readonly next: Snapshot; readonly floor: number };
}

async function readChanges(reader: Reader, request: ChangeRequest): Promise<ChangePage> {
  const { query, floor } = reader;
  const after = readPosition(request.after);
  const until = request.until === undefined ? null : readPosition(request.until);
  const known = await floor.current();
  const ofFunctions = request.scope.functionIds?.length !== 0;
  const nothing = { changes: [], position: request.after };
  if (ofFunctions && known - after.floor > MAX_BEHIND) return { ...nothing, isEnd: false, isTooOld: true };
  const stage = nextStage(after, until);
  if (!stage) return { ...nothing, isEnd: true, isTooOld: false };
  const limit = Math.min(Math.max(Math.trunc(request.limit), 1), MAX_PAGE);
  const from = Math.max(stage.floor + 1, stage.after.seq);
  const ceiling = ofFunctions ? from + WINDOW : Number.POSITIVE_INFINITY;
  const rows = await query<ChangeRow>(ofFunctions ? OF_FUNCTIONS : OF_RUNS, [
    stage.seen,
    stage.next,
    stage.after.seq,
    stage.after.runId,
    stage.upTo?.seq ?? null,
    stage.upTo?.runId ?? null,
    limit + 1,
    from,
    ...(ofFunctions ? [ceiling, functionsOf(request)] : []),
    textArray([...request.scope.runIds].sort()),
  ]);
  const [first] = rows;
  if (!first || first.is_ahead) throw invalidPosition("that place is not in this gateway's database");
  const next = stage.next ?? first.snapshot;
  if (stage.next === null) reader.begun = { next, floor: known };
  const found = rows.filter((row) => row.run_id !== null);
  const changes = found.slice(0, limit).map((row) => changeOf(row, stage, next));
  const last = changes.at(-1);
  if (found.length > limit && last) return { changes, position: last.position, isEnd: false, isTooOld: false };
  if (ceiling < Math.min(Number(first.last) + BLOCK, stage.upTo?.seq ?? Number.POSITIVE_INFINITY)) {
    const position = placed(stage, next, { seq: ceiling, runId: LAST_RUN });
    return { changes, position, isEnd: false, isTooOld: false };
  }
  const reached = reachedBy(stage, next, reader.begun.next === next ? reader.begun.floor : 0, until);
  const isEnd = until === null || nextStage(reached, until) === null;
  return {
    changes,
    position: writePosition(reached),
    isEnd: isEnd && (until !== null || stage.next === null),
    isTooOld: false,
  };
}

const functionsOf = ({ scope }: ChangeRequest): string | null =>
  scope.functionIds && textArray([...scope.functionIds].sort());

const placed = ({ seen, floor }: Stage, next: Snapshot, upTo: RowPlace): string =>
  writePosition({ seen, floor, within: { next, upTo } });

/** A page that held the rest of its stage. Only what was settled when its snapshot was taken is settled. */
function reachedBy(stage: Stage, next: Snapshot, settled: number, until: Position | null): Position {
  if (stage.upTo) return { seen: stage.seen, floor: stage.floor, within: { next, upTo: stage.upTo } };
  return { seen: next, floor: Math.max(stage.floor, settled, until?.seen === next ? until.floor : 0), within: null };
}

function changeOf(row: ChangeRow, stage: Stage, next: Snapshot): LogChange {
  const runId = row.run_id ?? "";
  const facts = readFacts(row.facts, row.data ?? "", contextOf({ id: runId, ...row }));
  return {
    runId,
    functionId: row.function_id,
    seq: row.seq,
    atMs: row.at_ms,
    status: row.status,
    facts: row.data === null ? facts.map((fact) => ({ ...fact, dataJson: null })) : facts,
    position: placed(stage, next, { seq: row.seq, runId }),
  };
}
