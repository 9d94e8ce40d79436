/** How things are at a gateway and its database, in a few cheap reads: for the status area of `dev`. */
import { plainName, type Store } from "@holdfast/store";
import { type Dispatcher, isGatewaySilent } from "./dispatch/index.ts";
import { PROBE_FUNCTION } from "./probe.ts";

/** How things are at a gateway. */
export interface Overview {
  /** Connected workers, by their app. */
  readonly workers: ReadonlyMap<string, number>;
  readonly running: number;
  readonly waiting: number;
  /** There are more open runs than were counted. */
  readonly isMore: boolean;
  /** Since the gateway started. */
  readonly completed: number;
  readonly failed: number;
  /** The oldest run that waits, as far as runs were counted. */
  readonly oldest: { readonly functionId: string; readonly ageMs: number; readonly why: string } | null;
}

/** Open runs that are counted; the oldest of more is not known. */
const COUNTED = 200;
const OPEN = ["PENDING", "RUNNING", "WAITING"] as const;

/** What there is once a gateway has started. */
export interface StartedParts {
  readonly store: Pick<Store, "listRuns" | "listConnections" | "nowMs">;
  readonly dispatcher: Pick<Dispatcher, "waitingRuns" | "functionCounts">;
}

export async function readOverview({ store, dispatcher }: StartedParts): Promise<Overview> {
  const [page, connections, nowMs] = await Promise.all([
    store.listRuns({ status: OPEN, limit: COUNTED }),
    store.listConnections(),
    store.nowMs(),
  ]);
  const workers = new Map<string, number>();
  for (const app of connections.filter((one) => !isGatewaySilent(one)).flatMap(({ appIds }) => appIds)) {
    workers.set(plainName(app), (workers.get(plainName(app)) ?? 0) + 1);
  }
  const running = page.runs.filter(({ status }) => status === "RUNNING").length;
  const last = page.runs.findLast(({ status }) => status !== "RUNNING");
  const why = last && (await dispatcher.waitingRuns.whyWait([last.id])).get(last.id);
  const counts = [...dispatcher.functionCounts()].flatMap(([id, one]) =>
    plainName(id) === PROBE_FUNCTION ? [] : [one],
  );
  const ended = (status: "COMPLETED" | "FAILED"): number => counts.reduce((sum, one) => sum + one.ended[status], 0);
  return {
    workers,
    running,
    waiting: page.runs.length - running,
    isMore: page.nextCursor !== null,
    completed: ended("COMPLETED"),
    failed: ended("FAILED"),
    oldest:
      last && why ? { functionId: plainName(last.functionId), ageMs: nowMs - last.createdMs, why: why.message } : null,
  };
}
