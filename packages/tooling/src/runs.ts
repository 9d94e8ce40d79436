/**
 * How many cases a property test tries: all of them in continuous integration and with `npm test` (both set `CI`), a
 * tenth during development.
 */
export function runs(cases: number): number {
  const ci = process.env.CI;
  const all = ci !== undefined && ci !== "" && ci !== "false" && ci !== "0";
  return all ? cases : Math.ceil(cases / 10);
}
