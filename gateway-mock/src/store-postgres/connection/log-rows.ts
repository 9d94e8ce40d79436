/**
 * How the facts of a run are kept in a row of `run_log`: what identifies them in `facts`, a line each, and their JSON in
 * `data`. The writer makes rows of facts, the loader facts of rows.
 */
import { HoldfastError } from "@holdfast/core";
import { LOG_KINDS, type LogKind, type LogRow } from "@holdfast/store";
import { compactFact, type LogContext, wholeFact } from "./compact-facts.ts";
import { expectNoSign, staysWhole } from "./compact-text.ts";
import { expectCount, joined, jsonList } from "./pg-values.ts";

const LINE_END = "\n";
/** No JSON text holds this character as it is. */
const DATA_END = "\x1e";

/**
 * Kinds as they are written. Rows of before have the names, and so has LEASE_LOST, which statements write themselves.
 * Never changed, only added to; migration 026 has the same.
 */
const LETTERS: Readonly<Record<Exclude<LogKind, "LEASE_LOST">, string>> = {
  RUN_CREATED: "c",
  DISPATCHED: "d",
  STEP_PLANNED: "p",
  STEP_BEGUN: "b",
  STEP_WAITING: "w",
  STEP_COMPLETED: "s",
  STEP_ATTEMPT_FAILED: "a",
  STEP_FAILED: "f",
  PASS_FAILED: "q",
  PASS_REPORTED: "r",
  TIMER_FIRED: "t",
  PINNED: "v",
  STALLED: "l",
  DEFERRED: "g",
  DEFER_ABORTED: "h",
  RUN_COMPLETED: "e",
  RUN_FAILED: "x",
  RUN_CANCELLED: "k",
  RUN_REVIVED: "y",
  COMMITS_LOST: "z",
};
const KIND_OF: ReadonlyMap<string, LogKind> = new Map(
  LOG_KINDS.flatMap((kind) => (kind === "LEASE_LOST" ? [] : [[LETTERS[kind], kind] as const])),
);

/** How a line of a fact of this kind may begin, now and before. */
export const lineBegins = (kind: LogKind): readonly string[] =>
  kind === "LEASE_LOST" ? [kind] : [kind, `${LETTERS[kind]}\\d*`];

/** What is zero is left out. */
function lineOf({ kind, attempt, iteration, key }: LogRow): string {
  // As everywhere else in the database they have 32 bits.
  if ((attempt | 0) !== attempt || (iteration | 0) !== iteration) throw new RangeError("A number is out of range");
  if (kind === "LEASE_LOST") return `${kind} ${attempt} ${iteration} ${written(key)}`;
  return `${LETTERS[kind]}${attempt || ""} ${iteration || ""} ${shortKey(key)}`;
}

/** Of the same fact always the same line: the store compares them. */
export function factsText(facts: readonly LogRow[]): string {
  const [first] = facts;
  return facts.length === 1 && first ? lineOf(first) : facts.map(lineOf).join(LINE_END);
}

/** The facts of a row, and what their texts have in common with the run. */
export interface RowFacts {
  readonly facts: readonly LogRow[];
  readonly context?: LogContext;
}

/**
 * For each list of facts what its row has as `data`, as a `jsonList`.
 * @throws TypeError when one of them is no JSON and would be taken for two
 */
export function dataList(rows: readonly RowFacts[]): string {
  const list = jsonList(rows.map(dataText));
  expectCount(
    list,
    DATA_END,
    rows.reduce((sum, { facts }) => sum + facts.length - 1, 0),
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
export function dataTexts(rows: readonly RowFacts[]): string[] {
  return rows.map((row) => {
    const text = dataText(row);
    expectCount(text, DATA_END, row.facts.length - 1);
    return text;
  });
}

function dataText({ facts, context }: RowFacts): string {
  const [first] = facts;
  if (facts.length === 1 && first) return compactFact(first.kind, first.dataJson, context);
  const texts = facts.map(({ kind, dataJson }) =>
    staysWhole(dataJson) ? dataJson : compactFact(kind, dataJson, context),
  );
  const text = joined(texts, DATA_END);
  // A long text is looked into when all is one: what came in pieces is copied by the first look, and again when joined.
  let at = 0;
  for (const one of texts) {
    if (staysWhole(one)) expectNoSign(text, at);
    at += one.length + DATA_END.length;
  }
  return text;
}

/** The facts of a row; without `data` theirs is empty. */
export function readFacts(facts: string, data?: string, context?: LogContext): LogRow[] {
  if (!facts.includes(LINE_END)) return [readLine(facts, data ?? "", context)];
  const texts = data?.split(DATA_END);
  return facts.split(LINE_END).map((line, index) => readLine(line, texts?.[index] ?? "", context));
}

const KINDS: ReadonlySet<string> = new Set(LOG_KINDS);
const isKind = (text: string): text is LogKind => KINDS.has(text);

function readLine(line: string, data: string, context: LogContext | undefined): LogRow {
  const kindEnd = line.indexOf(" ");
  const letter = KIND_OF.get(line.slice(0, 1));
  const attemptEnd = letter ? kindEnd : line.indexOf(" ", kindEnd + 1);
  const iterationEnd = line.indexOf(" ", attemptEnd + 1);
  const kind = letter ?? line.slice(0, kindEnd);
  if (!isKind(kind)) throw new HoldfastError("INTERNAL", `The run log has a fact of an unknown kind: ${kind}`);
  return {
    kind,
    key: letter ? readKey(line.slice(iterationEnd + 1)) : read(line.slice(iterationEnd + 1)),
    attempt: Number(line.slice(letter ? 1 : kindEnd + 1, attemptEnd)),
    iteration: Number(line.slice(attemptEnd + 1, iterationEnd)),
    dataJson: wholeFact(data, context),
  };
}

/** Keys are hashes and ids, so there is hardly ever anything to write otherwise. */
const written = (key: string): string =>
  /[\\\n]/.test(key) ? key.replaceAll("\\", "\\\\").replaceAll("\n", "\\n") : key;

const read = (text: string): string =>
  text.includes("\\") ? text.replace(/\\(.)/g, (_, sign: string) => (sign === "n" ? "\n" : sign)) : text;

/** Begins a hash that is written in fewer signs. */
const HASH = "=";
const IS_HASH = /^[0-9a-f]{40}$/;

/** Runs of one function have the same steps. */
const KEPT_KEYS = 4096;
const shortKeys = new Map<string, string>();

function shortKey(key: string): string {
  const known = shortKeys.get(key);
  if (known !== undefined) return known;
  if (!IS_HASH.test(key)) return key.startsWith(HASH) ? `\\${written(key)}` : written(key);
  const short = HASH + Buffer.from(key, "hex").toString("base64").slice(0, -1);
  if (shortKeys.size >= KEPT_KEYS) shortKeys.clear();
  shortKeys.set(key, short);
  return short;
}

const readKey = (text: string): string =>
  text.startsWith(HASH) ? Buffer.from(text.slice(1), "base64").toString("hex") : read(text);
