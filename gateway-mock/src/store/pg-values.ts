/** Values as Postgres reads them in text form; cheaper than the driver's own arrays, and needs no look-up of types. */

const NEEDS_ESCAPE = /["\\]/;

export function textArray(values: readonly (string | null)[]): string {
  let text = "{";
  let parted = false;
  for (const value of values) {
    if (parted) text += ",";
    parted = true;
    if (value === null) text += "NULL";
    else text += `"${NEEDS_ESCAPE.test(value) ? value.replace(/["\\]/g, "\\$&") : value}"`;
  }
  return `${text}}`;
}

export function numberArray(values: readonly (number | null)[]): string {
  return `{${values.map((value) => (value === null ? "NULL" : value)).join(",")}}`;
}

/** SQL for a timestamp as whole milliseconds since the epoch. */
export const msOf = (expression: string): string => `round(date_part('epoch', ${expression}) * 1000)::float8`;

/** SQL for the timestamp of a number of milliseconds since the epoch. */
export const timeOf = (expression: string): string => `to_timestamp(${expression} / 1000.0)`;

/** SQL for an interval of a number of milliseconds. */
export const intervalOf = (expression: string): string => `(${expression} * interval '1 millisecond')`;
