/**
 * How the facts of a run are kept in a row of `run_log`: what identifies them in `facts`, a line each, and their JSON in
 * `data`. The writer makes rows of facts, the loader facts of rows.
 */
import { HoldfastError } from "@holdfast/core";
import { LOG_KINDS, type LogKind, type LogRow } from "@holdfast/store";
import { expectCount, joined, jsonList } from "./pg-values.ts";

const LINE_END = "\n";
/** No JSON text holds this character as it is. */
const DATA_END = "\x1e";

function lineOf({ kind, attempt, iteration, key }: LogRow): string {
  // As everywhere else in the database they have 32 bits.
  if ((attempt | 0) !== attempt || (iteration | 0) !== iteration) throw new RangeError("A number is out of range");
  return `${kind} ${attempt} ${iteration} ${written(key)}`;
}

/** Of the same fact always the same line: the store compares them. */
export function factsText(facts: readonly LogRow[]): string {
  const [first] = facts;
  return facts.length === 1 && first ? lineOf(first) : facts.map(lineOf).join(LINE_END);
}

/**
 * For each list of facts what its row has as `data`, as a `jsonList`.
 * @throws TypeError when one of them is no JSON and would be taken for two
 */
export function dataList(rows: readonly (readonly LogRow[])[]): string {
  const list = jsonList(rows.map(dataText));
  expectCount(
    list,
    DATA_END,
    rows.reduce((sum, facts) => sum + facts.length - 1, 0),
  );
  return list;
}

/** How long a row's `data` is. */
export function dataLength(facts: readonly LogRow[]): number {
  let length = 0;
  for (const { dataJson } of facts) length += dataJson.length;
  return length;
}

/** The same for each, as a text of its own. */
export function dataTexts(rows: readonly (readonly LogRow[])[]): string[] {
  return rows.map((facts) => {
    const text = dataText(facts);
    expectCount(text, DATA_END, facts.length - 1);
    return text;
  });
}

function dataText(facts: readonly LogRow[]): string {
  const [first] = facts;
  if (facts.length === 1 && first) return first.dataJson;
  return joined(
    facts.map(({ dataJson }) => dataJson),
    DATA_END,
  );
}

/** The facts of a row; without `data` theirs is empty. */
export function readFacts(facts: string, data?: string): LogRow[] {
  if (!facts.includes(LINE_END)) return [readLine(facts, data ?? "")];
  const texts = data?.split(DATA_END);
  return facts.split(LINE_END).map((line, index) => readLine(line, texts?.[index] ?? ""));
}

const KINDS: ReadonlySet<string> = new Set(LOG_KINDS);
const isKind = (text: string): text is LogKind => KINDS.has(text);

function readLine(line: string, dataJson: string): LogRow {
  const [kind = "", attempt = "", iteration = ""] = line.split(" ", 3);
  if (!isKind(kind)) throw new HoldfastError("INTERNAL", `The run log has a fact of an unknown kind: ${kind}`);
  const key = read(line.slice(kind.length + attempt.length + iteration.length + 3));
  return { kind, key, attempt: Number(attempt), iteration: Number(iteration), dataJson };
}

/** Keys are hashes and ids, so there is hardly ever anything to write otherwise. */
const written = (key: string): string =>
  /[\\\n]/.test(key) ? key.replaceAll("\\", "\\\\").replaceAll("\n", "\\n") : key;

const read = (text: string): string =>
  text.includes("\\") ? text.replace(/\\(.)/g, (_, sign: string) => (sign === "n" ? "\n" : sign)) : text;
