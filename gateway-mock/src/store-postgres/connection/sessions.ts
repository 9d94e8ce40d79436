/** Whether connections are sessions of their own: a pooler in between may share them. */
import type postgres from "postgres";

/** `transactions`: each may run on another connection of the server, as behind a pooler in transaction mode. */
export type Sessions = "own" | "pooled" | "transactions";

/** So often two connections are asked in turn for the session that serves them. */
const TURNS = 5;

export async function sessionsOf(one: postgres.Sql, other: postgres.Sql): Promise<Sessions> {
  const seen = { one: new Set<number>(), other: new Set<number>() };
  let isPooled = false;
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const [name, sql] of [
      ["one", one],
      ["other", other],
    ] as const) {
      const rows = await sql.unsafe("SELECT pg_backend_pid() AS pid").simple();
      const pid = Number(rows[0]?.pid);
      seen[name].add(pid);
      // Who connected us gave a number for cancelling; a pooler's own is another than the server's.
      const given: unknown = rows.state;
      isPooled ||= typeof given === "object" && given !== null && "pid" in given && given.pid !== pid;
    }
  }
  const isShared = [...seen.one].some((pid) => seen.other.has(pid)) || seen.one.size > 1 || seen.other.size > 1;
  if (isShared) return "transactions";
  return isPooled ? "pooled" : "own";
}
