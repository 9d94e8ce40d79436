import type postgres from "postgres";
import type { Database } from "../../src/store-postgres/connection/database.ts";
import type { Param } from "../../src/store-postgres/connection/query.ts";

/** Ways in which Postgres plans a prepared statement; the gateway asks for the first. */
export const PLANS = ["force_generic_plan", "force_custom_plan"] as const;

interface Node {
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly "Temp Read Blocks": number;
  readonly "Actual Loops": number;
  readonly "Actual Rows": number;
  readonly "Rows Removed by Join Filter"?: number;
  readonly Plans?: readonly Node[];
}

interface Explained {
  readonly "QUERY PLAN": readonly { readonly Plan: Node }[];
}

/** What a statement of the store works with. */
export type Statements = Pick<Database, "query" | "retrying" | "settled">;

/** Pairs of rows that a join looked at and that did not belong together. */
const vainPairs = (node: Node): number =>
  (node["Rows Removed by Join Filter"] ?? 0) * node["Actual Loops"] +
  (node.Plans ?? []).reduce((sum, one) => sum + vainPairs(one), 0);

/** Rows that the parts of a plan made, for each other or for the answer. */
const madeRows = (node: Node): number =>
  node["Actual Rows"] * node["Actual Loops"] + (node.Plans ?? []).reduce((sum, one) => sum + madeRows(one), 0);

interface Work {
  readonly pages: number;
  readonly pairs: number;
  readonly rows: number;
}

/** What a prepared statement reads, in a transaction; what it changes is taken back. */
export async function executed(tx: postgres.TransactionSql, name: string, params: readonly Param[]): Promise<Work> {
  await tx.unsafe("SAVEPOINT before");
  const values = params.length > 0 ? `(${params.map(literal).join(", ")})` : "";
  const [row] = await tx.unsafe<Explained[]>(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE ${name}${values}`);
  await tx.unsafe("ROLLBACK TO before");
  const plan = row?.["QUERY PLAN"][0]?.Plan as Node;
  const pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] + plan["Temp Read Blocks"];
  return { pages, pairs: vainPairs(plan), rows: madeRows(plan) };
}

/** Pages that the statements of `act` read, and pairs in vain, by EXPLAIN; and what it returned. Nothing is changed. */
export async function pagesRead<T>(
  sql: postgres.Sql,
  plans: (typeof PLANS)[number],
  act: (on: Statements) => Promise<T>,
): Promise<Work & { readonly result: T }> {
  let pages = 0;
  let rows = 0;
  let pairs = 0;
  let answer: { readonly result: T } | undefined;
  const undo = new Error("undone");
  const settings = { enable_seqscan: "off", plan_cache_mode: plans, jit: "off" };
  const transaction = sql.begin(async (tx) => {
    for (const [name, value] of Object.entries(settings)) await tx.unsafe(`SET LOCAL ${name} = '${value}'`);
    const query = async (text: string, params: readonly Param[] = []): Promise<never[]> => {
      await tx.unsafe(`PREPARE explained AS ${text}`);
      const read = await executed(tx, "explained", params);
      await tx.unsafe("DEALLOCATE explained");
      pages += read.pages;
      pairs += read.pairs;
      rows += read.rows;
      return await tx.unsafe<never[]>(text, [...params]);
    };
    const result = await act({
      query,
      retrying: (_, work) => work(query, 1),
      settled: () => Promise.resolve(),
    });
    answer = { result };
    throw undo;
  });
  await transaction.catch((error: unknown) => {
    if (error !== undo) throw error;
  });
  return { pages, pairs, rows, result: (answer as { readonly result: T }).result };
}

function literal(value: Param): string {
  if (value === null || typeof value !== "string") return String(value ?? "NULL");
  return `'${value.replaceAll("'", "''")}'`;
}
