/** Which names of events something waits for: conditions of the writer's statements, and how their answers are read. */

/**
 * Whether something waits for events of this name: the first entry of the index says so. It is asked for as the first of
 * a range in the order of the index: where a name is compared alone, the planner expects few waits of it and reads all of
 * them, and those that have just ended.
 */
export const isAwaited = (name: string): string => `EXISTS (SELECT FROM (SELECT FROM holdfast.waits w
  WHERE (w.name, w.match) >= (${name}, '') AND w.name <= ${name} AND w.kind NOT IN ('signal', 'invoke')
  ORDER BY w.name, w.match LIMIT 1) x)`;

/** Those of these names, as JSON. */
export const awaitedOf = (names: string): string =>
  `array_to_json(ARRAY(SELECT n FROM unnest(${names}) n WHERE ${isAwaited("n")}))::text`;

export const readAwaited = (json: string | undefined): ReadonlySet<string> =>
  json === undefined || json === NONE ? NO_NAMES : new Set(JSON.parse(json) as string[]);

const NONE = "[]";
const NO_NAMES: ReadonlySet<string> = new Set();
