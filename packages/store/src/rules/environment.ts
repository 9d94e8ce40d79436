/**
 * Environments, as the store has them. What belongs to a named environment carries it in every name by which it is
 * looked up: apps, functions, events, signals. `shop-order` of `preview` is `@@preview:shop-order`. What is keyed by
 * such names (queues, limits, windows, schedules, waits, ids that senders gave, versions of apps) is kept apart by
 * that, and no statement has to think of it.
 *
 * ENV-1. Different pairs of environment and name give different texts: environments hold no ":", and a plain name that
 *    begins with the mark is written with an empty environment.
 * ENV-2. Names of the default environment are what they are, as before there were others.
 */
const MARK = "@@";
const END = ":";

/** Within the gateway; people call it by `DEFAULT_ENVIRONMENT_NAME`. */
export const DEFAULT_ENVIRONMENT = "";

export function qualify(environment: string, name: string): string {
  if (environment === DEFAULT_ENVIRONMENT && !name.startsWith(MARK)) return name;
  return MARK + environment + END + name;
}

export function environmentOf(qualified: string): string {
  const end = endOf(qualified);
  return end < 0 ? DEFAULT_ENVIRONMENT : qualified.slice(MARK.length, end);
}

/** What people call it within its environment. */
export function plainName(qualified: string): string {
  return qualified.slice(endOf(qualified) + 1);
}

/** Before which the environment stands; -1 for a plain name. */
function endOf(qualified: string): number {
  return qualified.startsWith(MARK) ? qualified.indexOf(END) : -1;
}
