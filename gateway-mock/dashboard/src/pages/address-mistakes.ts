/** What the address of the list of runs says and the list does not understand. Pure. */
import { ENVIRONMENT_PART } from "../data/environment-link.ts";
import { STATUSES } from "../data/types.ts";
import { RANGE, WINDOWS } from "./runs-filter.ts";

export interface Mistake {
  /** As it stands in the address; of a status that is partly known, the rest. */
  readonly part: string;
  readonly name: string;
  /** Why, as a sentence. */
  readonly text: string;
}

const NAMES = ["status", "function", "graph", "tenant", "time", "from", "to", "eventName", "event", "key", "error"];
/** What the API calls otherwise. */
const MEANT: Readonly<Record<string, string>> = {
  after: "a time begins with “from”, beside “time=range”.",
  before: "a time ends with “to”, beside “time=range”.",
  functionId: "a function is named by “function”.",
  eventId: "an event is named by “event”.",
};

export function mistakesIn(query: URLSearchParams): Mistake[] {
  return [...query].flatMap(([name, value]) => {
    // Of every address.
    if (name === ENVIRONMENT_PART) return [];
    const text = value === "" && NAMES.includes(name) ? null : mistakeOf(name, value, query);
    return text === null ? [] : [{ part: `${name}=${name === "status" ? unknownIn(value) : value}`, name, text }];
  });
}

function mistakeOf(name: string, value: string, query: URLSearchParams): string | null {
  if (!NAMES.includes(name)) return MEANT[name] ?? `there is no such filter. There are ${NAMES.join(", ")}.`;
  const time = query.get("time") ?? "";
  if (query.get(name) !== value) return "it is there twice.";
  if (name === "status") return unknownIn(value) === "" ? null : `there are the statuses ${STATUSES.join(", ")}.`;
  if (name === "time" && value !== RANGE && !Object.hasOwn(WINDOWS, value))
    return `there are the times ${[...Object.keys(WINDOWS), RANGE].join(", ")}.`;
  if (name === "from" || name === "to") {
    if (time !== RANGE) return "it counts only beside “time=range”.";
    if (Number.isNaN(Date.parse(value))) return "it is no time, such as 2027-01-31T09:00:00Z.";
  }
  if (name === "tenant" && (query.get("graph") ?? "") === "") return "it counts only beside a “graph”.";
  return null;
}

const KNOWN: readonly string[] = STATUSES;

const unknownIn = (statuses: string): string =>
  statuses
    .split(",")
    .filter((one) => !KNOWN.includes(one.toUpperCase()))
    .join(",");

/** The rest of the address; of a status that is partly known, the statuses that are. */
export function withoutMistakes(query: URLSearchParams, mistakes: readonly Mistake[]): URLSearchParams {
  const rest = new URLSearchParams(query);
  for (const { name } of mistakes) {
    const known = name === "status" ? STATUSES.filter((one) => statusesOf(query).includes(one)) : [];
    const twice = query.getAll(name).length > 1 ? query.get(name) : null;
    rest.delete(name);
    if (known.length > 0) rest.set(name, known.join(","));
    else if (twice !== null && mistakeOf(name, twice, query) === null) rest.set(name, twice);
  }
  return rest;
}

const statusesOf = (query: URLSearchParams): string[] => (query.get("status") ?? "").toUpperCase().split(",");
