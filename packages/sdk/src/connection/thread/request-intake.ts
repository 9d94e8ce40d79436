/**
 * Owns what becomes of a request that the gateway sends: handed to main, held until its lease is confirmed, or refused.
 * `../machines/acceptance.ts` decides, `handover-guard.ts` holds; `RequestManager` has it from then on.
 */
import { type Clock, type ClockReading, type Log, readClocks, unreachable } from "@holdfast/core";
import type { ExecutorRequest, Extension, RequestIdentity, WorkerFrame } from "@holdfast/protocol";
import { decideAcceptance } from "../machines/acceptance.ts";
import { ownedBytes, pooledCopy } from "../shared/packed-bytes.ts";
import { RecentIds } from "../shared/recent-ids.ts";
import { identityOf } from "../shared/reply.ts";
import type { SerializableConfig } from "../shared/serializable-config.ts";
import type { HandoverGuard } from "./handover-guard.ts";
import type { InFlightRequest, InFlightRequests } from "./in-flight-requests.ts";
import type { IsolatedRequests } from "./isolated-requests.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import type { MainPort } from "./main-port.ts";
import type { Refusals } from "./refusals.ts";

/** Dispatches that were answered and may still be delivered twice. */
const RECENT_IDS = 2_000;

export interface RequestIntakeDeps {
  readonly config: SerializableConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly port: Pick<MainPort, "post">;
  readonly isolated: Pick<IsolatedRequests, "isIsolated" | "take">;
  readonly inFlight: InFlightRequests;
  readonly handover: HandoverGuard;
  readonly leases: Pick<LeaseKeeper, "askForExtension">;
  readonly refusals: Refusals;
  readonly send: (frame: WorkerFrame) => void;
  readonly reply: (request: InFlightRequest, response: Uint8Array) => void;
  readonly state: () => IntakeState;
}

/** What of the connection thread decides whether it takes on more. */
export interface IntakeState {
  readonly extensions: readonly Extension[];
  readonly shuttingDown: boolean;
  readonly stalled: boolean;
  readonly outboxFull: boolean;
}

export class RequestIntake {
  readonly #deps: RequestIntakeDeps;
  readonly #apps: ReadonlySet<string>;
  readonly #finished = new RecentIds(RECENT_IDS);

  constructor(deps: RequestIntakeDeps) {
    this.#deps = deps;
    this.#apps = new Set(deps.config.apps.map((app) => app.appName));
  }

  /** `bytes` is a view that is only good during the call. */
  onRequest(request: ExecutorRequest, bytes: Uint8Array): void {
    const { config, clock, log, inFlight, isolated, handover, leases, refusals, send, state } = this.#deps;
    const { requestId, leaseId } = request;
    const { extensions, stalled, shuttingDown, outboxFull } = state();
    // A gateway that does not know partitions counts all requests together.
    const { running, maxRunning } = extensions.includes("partitions")
      ? inFlight.partOf(request.functionSlug)
      : { running: inFlight.runningCount, maxRunning: config.maxWorkerConcurrency };
    const acceptance = decideAcceptance(request, {
      shuttingDown,
      outboxFull,
      stalled: stalled && !isolated.isIsolated(request),
      apps: this.#apps,
      running,
      maxRunning,
      isInFlight: (id) => inFlight.has(id),
      // Only gateways with our extensions name every dispatch anew.
      isFinished: (id) => extensions.length > 0 && this.#finished.has(id),
    });
    switch (acceptance.verdict) {
      case "accept": {
        const copy = pooledCopy(bytes);
        const asOf = handover.knownAsOf(leaseId, readClocks(clock));
        const { identity } = inFlight.add(identityOf(request), leaseId, asOf !== null);
        if (asOf !== null) return this.#handOver(request, identity, copy, asOf);
        handover.hold(request, copy);
        return leases.askForExtension(requestId);
      }
      case "duplicate":
        if (handover.holds(requestId)) return;
        return send(requestAck(request));
      case "finished":
        return log("debug", "Ignored a request that was already answered.", { requestId });
      case "malformed":
        return this.#replyMalformed(request, acceptance.message);
      case "refuse":
        return refusals.refuseRequest(request, acceptance.reason, acceptance.message);
      default:
        return unreachable(acceptance);
    }
  }

  /** The lease of a request is confirmed: if it was held for that, main gets it now. */
  onConfirmed(requestId: string, asOf: ClockReading | null): void {
    const { handover, inFlight } = this.#deps;
    const request = handover.release(requestId);
    if (request === undefined) return;
    handover.ages.onConfirmed(request.leaseId, inFlight.get(requestId)?.startedAtMs ?? 0);
    this.#handOver(request, inFlight.get(requestId)?.identity ?? identityOf(request), request.bytes, asOf);
  }

  /** Its reply is acknowledged; should it be delivered once more, it is ignored. */
  onFinished(requestId: string): void {
    this.#finished.add(requestId);
  }

  /** To main or a pool thread, and acknowledged: that leaves at the end of the turn, after the post. */
  #handOver(request: ExecutorRequest, identity: RequestIdentity, bytes: Uint8Array, asOf: ClockReading | null): void {
    const { handover, isolated, port, send, state } = this.#deps;
    const { requestId } = identity;
    const [{ extensions }, { doubtNumber }] = [state(), handover];
    if (isolated.isIsolated(request)) {
      isolated.take(request, identity, { request: ownedBytes(bytes), extensions, doubtNumber, asOf });
    } else {
      port.post({ type: "EXECUTION_REQUEST", requestId, request: bytes, extensions, doubtNumber, asOf });
    }
    send(requestAck(identity));
  }

  #replyMalformed(request: ExecutorRequest, message: string): void {
    const { inFlight, refusals, reply } = this.#deps;
    const response = refusals.answerMalformed(request, message);
    reply(inFlight.add(identityOf(request), request.leaseId, true), response);
  }
}

/** Field by field: spread, so many take as long as the rest of the frame. */
function requestAck(request: RequestIdentity): WorkerFrame {
  const { requestId, accountId, envId, appId, functionSlug, stepId, systemTraceCtx, userTraceCtx, runId } = request;
  return {
    kind: "WORKER_REQUEST_ACK",
    requestId,
    accountId,
    envId,
    appId,
    functionSlug,
    stepId,
    systemTraceCtx,
    userTraceCtx,
    runId,
  };
}
