/** The rows of flow rules (table `gates`) in Postgres: locked for a batch, and written with it. */
import { type FlowRuleKey, type FlowRuleState, type FlowRules, flowRuleKeyOf, type RunStatus } from "@holdfast/store";
import { msOf, numberArray, textArray, timeOf } from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";

const COLUMNS = "function_id, kind, key, count, at, run_id, data, due_at, expires_at";

/** Makes the rows that are missing and locks all of them, in the order given. */
const LOCK_ROWS = `INSERT INTO holdfast.gates AS g (${COLUMNS})
SELECT function_id, kind, key, 0, now(), '', '', NULL, now() FROM unnest($1::text[], $2::text[], $3::text[]) AS n(function_id, kind, key)
ON CONFLICT (function_id, kind, key) DO UPDATE SET count = g.count WHERE false`;

/** Row by row, each a look into the index, however many there are by now (docs/decisions/0177). */
const READ_ROWS = `SELECT g.function_id, g.kind, g.key, g.count, ${msOf("g.at")} AS at_ms, g.run_id, g.data,
  ${msOf("g.due_at")} AS due_ms, COALESCE(r.ended_at IS NULL AND r.id IS NOT NULL, false) AS live
FROM unnest($1::text[], $2::text[], $3::text[]) AS n(function_id, kind, key)
CROSS JOIN LATERAL (SELECT * FROM holdfast.gates
  WHERE function_id = n.function_id AND kind = n.kind AND key = n.key OFFSET 0) g
LEFT JOIN LATERAL (SELECT id, ended_at FROM holdfast.runs WHERE id = g.run_id OFFSET 0) r ON true`;

interface FlowRuleRow {
  readonly function_id: string;
  readonly kind: string;
  readonly key: string;
  readonly count: number;
  readonly at_ms: number;
  readonly run_id: string;
  readonly data: string;
  readonly due_ms: number | null;
  readonly live: boolean;
  readonly status?: RunStatus;
}

/** Two statements: the second one sees what those have written whom the first one waited for. */
export function lockFlowRules(query: Query, keys: readonly FlowRuleKey[]): Promise<FlowRules> {
  const params = [
    textArray(keys.map((one) => one.functionId)),
    textArray(keys.map((one) => one.kind)),
    textArray(keys.map((one) => one.key)),
  ];
  const held = query(LOCK_ROWS, params);
  const read = query<FlowRuleRow>(READ_ROWS, params);
  return Promise.all([held, read]).then(([, rows]) => new Map(rows.map((row) => [keyOfRow(row), stateOfRow(row)])));
}

const keyOfRow = (row: FlowRuleRow): string =>
  flowRuleKeyOf({ functionId: row.function_id, kind: row.kind, key: row.key });

const stateOfRow = (row: FlowRuleRow): FlowRuleState => ({
  functionId: row.function_id,
  kind: row.kind,
  key: row.key,
  count: Number(row.count),
  atMs: row.at_ms,
  runId: row.run_id,
  data: row.data,
  dueMs: row.due_ms,
  expiresMs: Infinity,
  live: row.live,
  changed: false,
});

export function writeFlowRules(states: readonly FlowRuleState[]): { readonly text: string; readonly params: string[] } {
  return {
    text: `INSERT INTO holdfast.gates (${COLUMNS})
SELECT function_id, kind, key, count, ${timeOf("at")}, run_id, data, ${timeOf("due")}, COALESCE(${timeOf("expires")}, 'infinity')
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::float8[], $6::text[], $7::text[], $8::float8[], $9::float8[])
  AS n(function_id, kind, key, count, at, run_id, data, due, expires)
ON CONFLICT (function_id, kind, key) DO UPDATE SET count = excluded.count, at = excluded.at, run_id = excluded.run_id,
  data = excluded.data, due_at = excluded.due_at, expires_at = excluded.expires_at`,
    params: [
      textArray(states.map((one) => one.functionId)),
      textArray(states.map((one) => one.kind)),
      textArray(states.map((one) => one.key)),
      numberArray(states.map((one) => one.count)),
      numberArray(states.map((one) => one.atMs)),
      textArray(states.map((one) => one.runId)),
      textArray(states.map((one) => one.data)),
      numberArray(states.map((one) => one.dueMs)),
      numberArray(states.map((one) => (one.expiresMs === Infinity ? null : one.expiresMs))),
    ],
  };
}
