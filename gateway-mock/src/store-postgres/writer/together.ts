/**
 * Sends several statements as one: what a statement costs by itself, at both ends, is paid once for all of a batch.
 */
import type { Statement } from "../connection/database.ts";

/** By the texts of their parts; there are as many as there are kinds of batches. */
const made = new Map<string, string>();

/**
 * One statement that does what all of them do. They see the tables as they were before it: none may depend on what
 * another one writes, nor write a row that another one writes. With `log`, a query, they may read its one row under
 * that name, and the whole answers with it.
 */
export function together(statements: readonly Statement[], log: Statement | null = null): Statement[] {
  const all = log ? [log, ...statements] : statements;
  const [first] = all;
  if (!first || all.length === 1) return [...all];
  const key = all.map(({ text }) => text).join("\0");
  let text = made.get(key);
  if (text === undefined) {
    text = log ? withLog(all) : withLast(all);
    made.set(key, text);
  }
  return [{ text, params: all.flatMap(({ params }) => params) }];
}

function withLog(all: readonly Statement[]): string {
  const [log = "", ...parts] = renumbered(all);
  return `WITH log AS MATERIALIZED (${log}), ${named(parts)} SELECT * FROM log`;
}

function withLast(all: readonly Statement[]): string {
  const parts = renumbered(all);
  const last = parts.pop() ?? "";
  return `WITH ${named(parts)} ${last}`;
}

const named = (parts: readonly string[]): string => parts.map((part, index) => `part${index} AS (${part})`).join(", ");

/** The parameters of each come after those of the ones before it. */
function renumbered(all: readonly Statement[]): string[] {
  let before = 0;
  return all.map(({ text, params }) => {
    const moved = text.replace(/\$(\d+)/g, (_, number: string) => `$${Number(number) + before}`);
    before += params.length;
    return moved;
  });
}
