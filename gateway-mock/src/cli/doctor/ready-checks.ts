/** What `doctor` makes of the answer of a gateway that is ready: what it has met lately. */
import { type Check, warn } from "./check.ts";

/** Of the answer of `/ready`. */
export interface Ready {
  readonly slowLease?: { readonly tookMs: number; readonly leaseMs: number; readonly agoMs: number };
}

export function readyChecks({ slowLease }: Ready): readonly Check[] {
  if (slowLease === undefined) return [];
  const { tookMs, leaseMs, agoMs } = slowLease;
  const took = `took ${secondsText(tookMs)} to lease work, ${secondsText(agoMs)} ago`;
  const message = `the database ${took}: work leaves only in the first half of a lease of ${secondsText(leaseMs)}`;
  return [warn("database", message, "see what it is busy with; docs/errors.md explains DATABASE_SLOW")];
}

const secondsText = (ms: number): string => `${Number((ms / 1000).toFixed(1))} s`;
