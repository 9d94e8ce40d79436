/** Who has the leased job of a run, as far as this gateway can say: for the reason for which the run waits. */
import type { ListedConnection, OpenJob, OpenRun } from "@holdfast/store";
import type { Holder } from "../admission/waiting-facts.ts";
import type { DispatcherOptions } from "../ports.ts";
import type { Functions } from "../registry/functions.ts";
import type { ConnectedWorker } from "../workers/connected-worker.ts";
import type { Dispatches } from "../workers/dispatches.ts";
import { requestIdOf } from "../workers/request-id.ts";
import type { Stalls } from "../workers/stalls.ts";
import { runningAt } from "./running-steps.ts";
import { Elsewhere, SILENT_MS, versionName } from "./versions.ts";

type HolderHere = Extract<Holder, { at: "here" }>;

export interface HolderParts {
  readonly dispatches: Pick<Dispatches, "get" | "continued">;
  readonly functions: Pick<Functions, "queueOf">;
  readonly stalls: Pick<Stalls, "newestOf">;
  readonly options: Pick<DispatcherOptions, "settings" | "clock">;
}

export function holderOf(
  { dispatches, functions, stalls, options }: HolderParts,
  { id, epoch, leasedBy }: OpenJob,
  { head }: OpenRun,
  connections: readonly ListedConnection[],
): Holder {
  const fence = { jobId: id, epoch };
  const nowMs = options.clock.monotonicMs();
  /** What keeps the main thread of its worker from going on; functions of partitions do not need it. */
  const stallOf = (worker: ConnectedWorker | null): HolderHere["stall"] => {
    if (worker === null || worker.partitionOf(head.functionId) !== worker.main) return null;
    const [newest] = stalls.newestOf(worker);
    return newest === undefined || newest.ended
      ? null
      : { ...newest, agoMs: Math.max(0, options.clock.nowMs() - newest.atMs) };
  };
  const dispatch = dispatches.get(requestIdOf(fence));
  if (dispatch && !dispatch.elsewhere) {
    const { worker, lease, acked, sentMs, lastHeardMs, lostMs } = dispatch;
    const instanceId = worker?.session.instanceId ?? lease?.instanceId;
    // Its lease is asked for once more, or its worker's socket has no room.
    if (instanceId === undefined || (!acked && sentMs === null)) return { at: "gateway" };
    return {
      at: "here",
      instanceId,
      isAcked: acked,
      silentMs: nowMs - lastHeardMs,
      extendLeaseMs: worker?.session.extendLeaseMs ?? Number.POSITIVE_INFINITY,
      lostMs: worker === null && lostMs !== undefined ? nowMs - lostMs : null,
      running: runningAt(dispatch, nowMs),
      stall: stallOf(worker),
    };
  }
  const continued = dispatches.continued.get(fence);
  if (continued) {
    const { worker, instanceId, extendLeaseMs, lostMs, lastHeardMs } = continued;
    return {
      at: "here",
      instanceId,
      isAcked: true,
      silentMs: nowMs - lastHeardMs,
      extendLeaseMs,
      lostMs: lostMs === null ? null : nowMs - lostMs,
      running: runningAt(continued, nowMs),
      stall: stallOf(worker),
    };
  }
  if (leasedBy === options.settings.gatewayId) return { at: "gateway" };
  const name = versionName(head.appId, head.appVersion);
  const queue = functions.queueOf(head.functionId, head.appVersion);
  const there = connections.filter(({ gatewayId }) => gatewayId === leasedBy);
  const able = there.filter((one) => new Elsewhere([one]).connects(name, queue));
  const silentMs = there[0]?.silentMs ?? null;
  return {
    at: "elsewhere",
    instanceIds: [...new Set(able.map(({ instanceId }) => instanceId))],
    silentMs: silentMs !== null && silentMs >= SILENT_MS ? silentMs : null,
  };
}
