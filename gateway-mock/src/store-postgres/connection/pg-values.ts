/** Values as Postgres reads them in text form; cheaper than the driver's own arrays, and needs no look-up of types. */

const NEEDS_ESCAPE = /["\\]/;

export function textArray(values: readonly (string | null)[]): string {
  if (values.length === 0) return "{}";
  // All are looked at as one text: a look at each costs more than the copy.
  if (!values.includes(null) && !NEEDS_ESCAPE.test(values.join(""))) return `{"${values.join('","')}"}`;
  return `{${values.map(element).join(",")}}`;
}

function element(value: string | null): string {
  return value === null ? "NULL" : `"${value.replace(/["\\]/g, "\\$&")}"`;
}

export function numberArray(values: readonly (number | null)[]): string {
  return `{${values.map((value) => (value === null ? "NULL" : value)).join(",")}}`;
}

/** No JSON text holds this character as it is. */
const BETWEEN = "\x1f";

/** JSON texts, or null: for large ones with many quotes much cheaper than an array that Postgres has to read. */
export function jsonList(values: readonly (string | null)[]): string {
  // What is null is empty, as no JSON text is.
  const list = joined(values, BETWEEN);
  expectCount(list, BETWEEN, Math.max(0, values.length - 1));
  return list;
}

/**
 * The same as `join`, for long texts that are joined again: nothing is copied before all is together. Whether a sign is in
 * them is looked for after that.
 */
export function joined(values: readonly (string | null)[], between: string): string {
  let list = values[0] ?? "";
  for (let index = 1; index < values.length; index += 1) list += between + (values[index] ?? "");
  return list;
}

/** That what no JSON text holds is as often in a list of them as was written. */
export function expectCount(list: string, sign: string, count: number): void {
  let found = 0;
  for (let at = list.indexOf(sign); at >= 0; at = list.indexOf(sign, at + 1)) found += 1;
  if (found !== count) throw new TypeError(`A string with ${JSON.stringify(sign)} is not valid JSON`);
}

/** SQL for the texts of a `jsonList` as an array. */
export const textsOf = (parameter: string): string => `string_to_array(${parameter}::text, E'\\x1f', '')`;

/** From this length on a text is a parameter of its own: Postgres copies each text of a list some times more. */
const LONG_TEXT = 64 * 1024;
/** Of one statement: there is a text of it for each number of them. */
const MAX_OWN = 16;

/** Rows in one statement whose texts are a list, and those in another one that each have parameters of their own. */
export interface ByLength<Row> {
  readonly short: readonly Row[];
  readonly long: readonly Row[];
}

/** By the length of a row's texts together. Both keep the order. */
export function byLength<Row>(rows: readonly Row[], lengthOf: (row: Row) => number): ByLength<Row> {
  if (!rows.some((row) => lengthOf(row) >= LONG_TEXT)) return { short: rows, long: [] };
  const short: Row[] = [];
  const long: Row[] = [];
  for (const row of rows) (long.length < MAX_OWN && lengthOf(row) >= LONG_TEXT ? long : short).push(row);
  return { short, long };
}

/**
 * From this length on a row is in a statement of its own kind. Less is not worth another statement: the thousand steps
 * that a decision may plan take about half of it.
 */
const LONG_ROW = 256 * 1024;
/** So much of long rows goes into one statement, which is four of the shortest: there is a text of it for each number. */
const FULL = 4 * LONG_ROW;

/** Rows with long texts for one statement, and how long they are together. */
export interface LongRows<Row> {
  readonly rows: readonly Row[];
  readonly length: number;
}

/** As `byLength`, but all that are long are apart, in groups. A text of a megabyte is alone. */
export function inGroups<Row>(
  rows: readonly Row[],
  lengthOf: (row: Row) => number,
): { readonly short: readonly Row[]; readonly long: readonly LongRows<Row>[] } {
  if (!rows.some((row) => lengthOf(row) >= LONG_ROW)) return { short: rows, long: NONE };
  const short: Row[] = [];
  const long: LongRows<Row>[] = [];
  let open: { rows: Row[]; length: number } | null = null;
  for (const row of rows) {
    const length = lengthOf(row);
    if (length < LONG_ROW) {
      short.push(row);
      continue;
    }
    if (open === null || open.length + length > FULL) {
      open = { rows: [], length: 0 };
      long.push(open);
    }
    open.rows.push(row);
    open.length += length;
  }
  return { short, long };
}

const NONE: readonly never[] = [];

/** SQL for the texts as an array, each of which is a parameter, from number `first` on. */
export const ownTextsOf = (first: number, count: number): string =>
  `ARRAY[${Array.from({ length: count }, (_, index) => `$${first + index}::text`).join(", ")}]`;

/** SQL for a timestamp as whole milliseconds since the epoch. */
export const msOf = (expression: string): string => `round(date_part('epoch', ${expression}) * 1000)::float8`;

export const booleanArray = (values: readonly boolean[]): string =>
  `{${values.map((value) => (value ? "t" : "f")).join(",")}}`;

/** SQL for how many milliseconds ago a timestamp was. */
export const msSince = (expression: string): string =>
  `round(date_part('epoch', now() - ${expression}) * 1000)::float8`;

/** SQL for the timestamp of a number of milliseconds since the epoch. */
export const timeOf = (expression: string): string => `to_timestamp(${expression} / 1000.0)`;

/** SQL for an interval of a number of milliseconds. */
export const intervalOf = (expression: string): string => `(${expression} * interval '1 millisecond')`;

/**
 * SQL for whether `parameter`, the version of the registry that something rests on, is the store's; null rests on none.
 */
export const isRegistry = (parameter: string): string =>
  `(${parameter}::bigint IS NULL OR EXISTS (SELECT FROM holdfast.registry r WHERE r.one AND r.version = ${parameter}::bigint))`;

/** SQL for whether it is not later than `parameter` (ms) says; null says nothing. */
export const isInTime = (parameter: string): string =>
  `(${parameter}::float8 IS NULL OR now() <= ${timeOf(`${parameter}::float8`)})`;

/**
 * SQL for rows (`name`) out of arrays of one length, one for each column, as the names and values of `columns` say. The
 * target list takes them value by value; a function in FROM copies each array first, which costs more than all the rest.
 */
export const rowsOf = (columns: Readonly<Record<string, string>>, name = "n"): string =>
  `(SELECT ${Object.entries(columns)
    .map(([column, array]) => `unnest(${array}) AS ${column}`)
    .join(", ")}) AS ${name}`;

/**
 * SQL for whether `column` is in `array`, sorted ids. Its ends say nothing more, except to Postgres: a list that comes as a
 * parameter leaves every partition to be looked at, its ends leave those out that lie before and after them.
 */
export const isAmong = (column: string, array: string): string =>
  `${column} = ANY(${array}) AND ${isBetween(column, array)}`;

/** The same where each id is looked for by itself: leaves partitions out, and nothing else. */
export const isBetween = (column: string, array: string): string =>
  `${column} >= (${array})[1] AND ${column} <= (${array})[array_upper(${array}, 1)]`;
