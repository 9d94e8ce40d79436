/**
 * Sends several statements as one: what a statement costs by itself, at both ends, is paid once for all of a batch.
 */
import type { Statement } from "../connection/database.ts";

/** By the texts of their parts; there are as many as there are kinds of batches. */
const made = new Map<string, string>();

/**
 * One statement that does what all of them do. They see the tables as they were before it: none may depend on what
 * another one writes, nor write a row that another one writes.
 */
export function together(statements: readonly Statement[]): Statement[] {
  if (statements.length <= 1) return [...statements];
  const last = statements.length - 1;
  return [textOf(statements, (parts) => `WITH ${named(parts.slice(0, last))} ${parts[last]}`)];
}

/** The same where some have names by which `answer`, a query, can ask for their rows. */
export function answering(
  parts: Readonly<Record<string, Statement>>,
  others: readonly Statement[],
  answer: string,
): Statement {
  const names = Object.keys(parts);
  return textOf(
    [...Object.values(parts), ...others],
    (texts) => {
      const asked = names.map((name, index) => `${name} AS (${texts[index]})`);
      return `WITH ${[...asked, named(texts.slice(names.length))].filter(Boolean).join(", ")} ${answer}`;
    },
    `${names}\0${answer}`,
  );
}

function textOf(
  statements: readonly Statement[],
  write: (parts: readonly string[]) => string,
  distinct = "",
): Statement {
  const key = [distinct, ...statements.map(({ text }) => text)].join("\0");
  let text = made.get(key);
  if (text === undefined) {
    text = write(renumbered(statements));
    made.set(key, text);
  }
  return { text, params: statements.flatMap(({ params }) => params) };
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
