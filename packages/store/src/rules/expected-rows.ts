/**
 * The rows a batch probably finds, from what its units say themselves, so that it can be written in one round trip
 * (docs/decisions/0030).
 */
import type { IntakeItem } from "../port/events.ts";
import type { Transition } from "../port/store.ts";
import type { LockedJob, LockedRows, LockedRun } from "./locked-rows.ts";
import type { Needs, Unit } from "./plan.ts";

const NOTHING_ELSE: Omit<LockedRows, "jobs" | "runs" | "awaited" | "registryVersion"> = {
  eventKeys: new Map(),
  knownEvents: new Set(),
  signals: new Map(),
  flowRules: new Map(),
  facts: new Set(),
  atMs: 0,
};

/**
 * Almost always all units of a batch win: fences and versions are those that the database has, and of its events those
 * are waited for that were before (`awaited`). Such a batch needs no look before it is planned; it is planned on what it
 * expects, and written under the condition that this is so. Null: whether a unit wins, or what it writes, depends on
 * more than that.
 *
 * EXPECT-1. What `planBatch` makes of it is what it would make of the same things found under locks: every unit wins.
 * EXPECT-2. Everything that decides about a win or a write is in `jobs`, `runs`, the registry's version, the names of
 *     events, or the facts that the log has.
 * EXPECT-3. Nothing may wait for an event any more that is expected to be waited for: then its job finds nothing to do.
 *     What is only written where something waits is not expected for such a name.
 */
export function expectRows(units: readonly Unit[], needs: Needs, awaited: ReadonlySet<string>): LockedRows | null {
  const { eventKeys, signals, flowRules, eventNames, registryVersions } = needs;
  if (eventKeys.length + signals.length + flowRules.length > 0 || registryVersions.length > 1) return null;
  const names = eventNames.filter((name) => awaited.has(name));
  const expected = names.length === 0 ? NO_NAMES : new Set(names);
  const jobs = new Map<string, LockedJob>();
  const runs = new Map<string, LockedRun>();
  for (const unit of units) {
    const plain =
      unit.type === "intake" ? isPlain(unit.item, expected) : expectFor(unit.transition, { jobs, runs, expected });
    if (!plain) return null;
  }
  return { jobs, runs, awaited: expected, registryVersion: registryVersions[0] ?? null, ...NOTHING_ELSE };
}

const NO_NAMES: ReadonlySet<string> = new Set();

interface Expected {
  readonly jobs: Map<string, LockedJob>;
  readonly runs: Map<string, LockedRun>;
  /** Names of events that are waited for. */
  readonly expected: ReadonlySet<string>;
}

function isPlain(
  { source, storedEvents, resent, ifAwaited, event }: IntakeItem,
  awaited: ReadonlySet<string>,
): boolean {
  return !source && !storedEvents && !resent && !(ifAwaited && awaited.has(event.name));
}

/** False when it cannot be expected, or contradicts what another unit expects. */
function expectFor(transition: Transition, { jobs, runs, expected }: Expected): boolean {
  const { runId, fence, cas, create, revives, resent, head, events = [] } = transition;
  if (resent || create || revives || cas === "live" || (cas !== null && !head)) return false;
  if (!events.every((item) => isPlain(item, expected))) return false;
  if (cas === null && !fence) return false;
  if (fence) {
    const { jobId: id, epoch } = fence;
    const other = jobs.get(id);
    if (other && (other.epoch !== epoch || other.runId !== runId)) return false;
    jobs.set(id, { id, runId, epoch });
  }
  // Any status but an ended one does: the patch has the new one.
  if (cas !== null) runs.set(runId, { id: runId, version: cas, status: "RUNNING" });
  return true;
}
