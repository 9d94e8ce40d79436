/**
 * Owns the requests of a connection thread, from the frame that brings one to the acknowledgement of its reply. What
 * each part decides is in that part: `request-intake.ts`, `handover-guard.ts`, `lease-keeper.ts`, `reply-delivery.ts`,
 * `refusals.ts`.
 */
import { type Clock, HoldfastError, type Log, type Timers, toPlainError, unreachable } from "@holdfast/core";
import {
  allocatePooled,
  type CheckpointOutcome,
  type ConnectionReady,
  type Extension,
  encodeWorkerFrame,
  type WorkerFrame,
} from "@holdfast/protocol";
import type { WorkFrame } from "../machines/frame-subjects.ts";
import type { RequestNews } from "../shared/isolated-messages.ts";
import type { AdoptedRequest, MainMessage, ThreadMessage } from "../shared/messages.ts";
import { encodeErrorReply } from "../shared/reply.ts";
import type { SerializableConfig } from "../shared/serializable-config.ts";
import type { SharedCounters } from "../shared/shared-counters.ts";
import type { GatewayHttp } from "./gateway-http.ts";
import { HandoverGuard } from "./handover-guard.ts";
import type { InFlightRequest, InFlightRequests } from "./in-flight-requests.ts";
import type { IsolatedRequests } from "./isolated-requests.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import type { MainPort } from "./main-port.ts";
import { Refusals } from "./refusals.ts";
import { ReplyDelivery } from "./reply-delivery.ts";
import { RequestIntake } from "./request-intake.ts";
import { type RequestsDebugState, requestsDebugState } from "./requests-debug-state.ts";
import type { Emit, RequestEffect } from "./thread-effect.ts";

export interface RequestManagerDeps {
  readonly config: SerializableConfig;
  readonly http: Pick<GatewayHttp, "flush">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly port: Pick<MainPort, "post">;
  /** For messages of which only the latest matters. */
  readonly coalescing: Pick<MainPort, "post">;
  readonly counters: Pick<SharedCounters, "setDoubtNumber" | "addRevocation">;
  /** Requests that go to pool threads instead of main. */
  readonly isolated: IsolatedRequests;
  /** Of the first doubt, which everything that is adopted is in. */
  readonly doubtNumber: number;
  /** Only this class adds to it, or takes away. */
  readonly inFlight: InFlightRequests;
}

export type WorkMessage = Extract<
  MainMessage,
  { type: `EXECUTION_${string}` | "CHECKPOINT" | "LEASE_WANTED" | "STEPS_RUNNING" }
>;

/**
 * The requests of this connection thread. Joins what others own: `RequestIntake`, `HandoverGuard` (may it go to main?),
 * `LeaseKeeper`, `ReplyDelivery`, `Refusals`. Main's ledger is the truth of them; a new thread gets it by `adopt`.
 */
export class RequestManager {
  readonly #inFlight: InFlightRequests;
  readonly #delivery: ReplyDelivery;
  readonly #emit: Emit<RequestEffect>;
  readonly #deps: RequestManagerDeps;
  readonly #leases: LeaseKeeper;
  readonly #refusals: Refusals;
  readonly #intake: RequestIntake;
  readonly #handover: HandoverGuard;
  /** To main, or to the pool thread that has the request. */
  readonly #port: Pick<MainPort, "post">;
  #extensions: readonly Extension[] = [];
  #negotiated = false;
  #stalled = false;
  #shuttingDown = false;
  /** Isolated requests that are to go back. */
  readonly #returning = new Set<string>();

  constructor(deps: RequestManagerDeps, emit: Emit<RequestEffect>) {
    this.#deps = deps;
    this.#emit = emit;
    this.#handover = new HandoverGuard(deps.counters, deps.doubtNumber);
    this.#inFlight = deps.inFlight;
    const sendBytes = (bytes: Uint8Array): void => emit({ do: "SEND", bytes });
    this.#delivery = new ReplyDelivery({ ...deps, send: sendBytes, onDelivered: (id) => this.#onDelivered(id) });
    const send = (frame: WorkerFrame): void => this.#send(frame);
    this.#refusals = new Refusals({ ...deps, send, extensions: () => this.#extensions });
    const port = portBy(deps.isolated, deps.port);
    this.#port = port;
    this.#leases = new LeaseKeeper({
      ...deps,
      port,
      coalescing: portBy(deps.isolated, deps.coalescing),
      ages: this.#handover.ages,
      send,
      onConfirmed: (requestId, asOf) => this.#intake.onConfirmed(requestId, asOf),
      onLost: (requestId) => this.#loseRequest(requestId),
      isShuttingDown: () => this.#shuttingDown,
      isPlain: () => this.#negotiated && this.#extensions.length === 0,
      saysSteps: () => this.#extensions.includes("progress"),
    });
    this.#intake = new RequestIntake({
      ...deps,
      ...{ handover: this.#handover, leases: this.#leases, refusals: this.#refusals, send },
      reply: (request, response) => this.#reply(request, response),
      state: () => ({
        extensions: this.#extensions,
        shuttingDown: this.#shuttingDown,
        stalled: this.#stalled,
        outboxFull: this.#delivery.full,
      }),
    });
  }

  /** What was agreed on with the present gateway, or the last one. */
  get extensions(): readonly Extension[] {
    return this.#extensions;
  }

  /** How many requests are in flight. */
  get inFlightCount(): number {
    return this.#inFlight.count;
  }

  /** Requests whose reply has not been acknowledged. */
  undelivered(): readonly string[] {
    return this.#delivery.undelivered();
  }

  /** Time runs out: every reply without acknowledgement goes by HTTP now, also while there is a link. */
  flushReplies(): void {
    this.#delivery.flushReplies();
  }

  debugState(): RequestsDebugState {
    return requestsDebugState(this.#inFlight, this.#delivery, this.#deps.clock.monotonicMs());
  }

  adopt(requests: readonly AdoptedRequest[]): void {
    for (const { identity, leaseId, ageMs, outcome, checkpoints } of requests) {
      const request = this.#inFlight.add(identity, leaseId, false, ageMs);
      for (const { sequence, ops } of checkpoints) this.#delivery.addCheckpoint(identity.requestId, sequence, ops);
      if (outcome?.kind === "response") this.#reply(request, outcome.response);
      if (outcome?.kind === "error") {
        this.#reply(request, encodeErrorReply(identity, outcome.error, this.#deps.config.sdkVersion));
      }
    }
    this.#deps.isolated.adopt(requests);
  }

  onLinkUp(ready: ConnectionReady): void {
    this.#forgetHeld();
    this.#handover.onLinkUp(ready);
    this.#extensions = this.#deps.config.extensions.filter((name) => ready.extensions.includes(name));
    this.#negotiated = true;
    this.#refusals.onLinkUp();
    this.#leases.start(ready);
    if (!this.#extensions.includes("checkpoint")) {
      for (const { requestId, sequence } of this.#delivery.openCheckpoints()) {
        this.#answerCheckpoint(requestId, sequence, "invalid");
      }
    }
    this.#delivery.onLinkUp();
    this.#sendReturned();
  }

  onLinkDown(): void {
    this.#refusals.onLinkDown();
    this.#leases.stop();
    this.#delivery.onLinkDown();
    this.#forgetHeld();
    // Without a connection for long enough the gateway gives the work to others.
    this.beginDoubt();
  }

  /** Others may have got what is held here. */
  beginDoubt(): void {
    this.#handover.beginDoubt();
    this.#leases.beginDoubt(this.#handover.doubtNumber);
  }

  /** `bytes` is a view that is only good during the call. */
  onWorkFrame(frame: WorkFrame, bytes: Uint8Array): void {
    switch (frame.kind) {
      case "GATEWAY_EXECUTOR_REQUEST":
        return this.#intake.onRequest(frame, bytes);
      case "WORKER_REPLY_ACK":
        return this.#onDelivered(frame.requestId);
      case "WORKER_REQUEST_EXTEND_LEASE_ACK":
        if (this.#leases.onExtensionAnswer(frame.requestId, frame.newLeaseId)) this.#handover.endDoubt();
        return;
      case "GATEWAY_CHECKPOINT_ACK":
        return this.#answerCheckpoint(frame.requestId, frame.sequence, frame.outcome);
      case "GATEWAY_CANCEL": {
        const { requestId, reason } = frame;
        if (this.#handover.holds(requestId)) return this.#forget(requestId);
        if (this.#inFlight.cancel(requestId, reason)) this.#revoke({ type: "CANCEL", requestId, reason });
        return;
      }
      case "GATEWAY_RESULTS":
        return this.#port.post({ type: "RESULTS", requestId: frame.requestId, ended: frame });
      default:
        return unreachable(frame);
    }
  }

  onMainMessage(message: WorkMessage): void {
    const { requestId } = message;
    const request = this.#inFlight.get(requestId);
    // Its lease was lost while the message was under way; main is being notified.
    if (request === undefined) return;
    switch (message.type) {
      case "EXECUTION_RESPONSE":
        return this.#reply(request, message.response);
      case "EXECUTION_ERROR":
        return this.#reply(request, encodeErrorReply(request.identity, message.error, this.#deps.config.sdkVersion));
      case "EXECUTION_DROPPED":
        return this.#forget(requestId);
      case "CHECKPOINT":
        return this.#onCheckpoint(requestId, message.sequence, message.ops);
      case "LEASE_WANTED":
        return message.wanted ? this.#leases.keepConfirming(requestId) : this.#leases.stopConfirming(requestId);
      case "STEPS_RUNNING":
        return this.#leases.sayLongSteps(request, message.steps);
      default:
        return unreachable(message);
    }
  }

  /** A pool thread says something of a request that it has, or has had: a reply that is under way stays as it is. */
  onIsolatedWork(message: WorkMessage): void {
    if (this.#inFlight.get(message.requestId)?.state === "running") this.onMainMessage(message);
  }

  /**
   * The thread that may have begun with it is gone, and so is the connection thread that knew how far it was: any worker may have
   * it as soon as a gateway can be told. One that understands no refusal is told that the attempt has failed.
   */
  returnIsolated(requestId: string): void {
    this.#returning.add(requestId);
    if (this.#refusals.isLinked) this.#sendReturned();
  }

  beginShutdown(): void {
    this.#shuttingDown = true;
    for (const request of this.#handover.held()) {
      this.#refusals.refuseRequest(request, "SHUTTING_DOWN", "This worker is shutting down.");
      this.#forget(request.requestId);
    }
    this.#delivery.beginUrgency();
  }

  /** Returns requests that still run, so that another worker can start at once. */
  handBackUnfinished(): void {
    for (const { state, identity } of [...this.#inFlight.values()]) {
      if (state !== "running") continue;
      const { requestId } = identity;
      this.#refusals.handBackRequest(identity, this.#inFlight.leases.get(requestId)?.leaseId ?? "");
      this.#loseRequest(requestId);
    }
  }

  /**
   * Returns the leases of requests that main cannot continue. A result that arrives all the same is sent: it is
   * accepted if no worker has taken the work by then, and rejected by its epoch otherwise.
   */
  giveUpStalledLeases(): void {
    this.#stalled = true;
    for (const { state, identity } of this.#inFlight.values()) {
      if (state !== "running" || this.#deps.isolated.has(identity.requestId)) continue;
      const leaseId = this.#leases.giveUpLease(identity.requestId);
      this.#refusals.nack(identity, leaseId, "STALLED", "The worker's main thread is blocked.");
    }
    this.beginDoubt();
  }

  reclaimStalledLeases(): void {
    this.#stalled = false;
    this.#leases.reclaimLeases();
  }

  stop(): void {
    this.#leases.stop();
    this.#delivery.stop();
  }

  #sendReturned(): void {
    for (const requestId of this.#returning) {
      this.#returning.delete(requestId);
      const request = this.#inFlight.get(requestId);
      if (request?.state !== "running") continue;
      const leaseId = this.#inFlight.leases.get(requestId)?.leaseId ?? "";
      const error = new HoldfastError("ISOLATE_THREAD_LOST", "The thread that ran the function is gone.");
      if (this.#refusals.nack(request.identity, leaseId, "STALLED", error.message)) this.#loseRequest(requestId);
      else this.#reply(request, encodeErrorReply(request.identity, toPlainError(error), this.#deps.config.sdkVersion));
    }
  }

  #send(frame: WorkerFrame): void {
    this.#emit({ do: "SEND", bytes: encodeWorkerFrame(frame, allocatePooled) });
  }

  #onDelivered(requestId: string): void {
    this.#delivery.withdraw(requestId);
    if (this.#inFlight.remove(requestId) === undefined) return;
    this.#intake.onFinished(requestId);
    this.#port.post({ type: "REPLY_ACKED", requestId });
    this.#emit({ do: "REQUEST_ENDED" });
  }

  #forget(requestId: string): void {
    this.#delivery.withdraw(requestId);
    this.#inFlight.remove(requestId);
    this.#handover.release(requestId);
    this.#deps.isolated.forget(requestId);
    this.#emit({ do: "REQUEST_ENDED" });
  }

  #forgetHeld(): void {
    for (const { requestId } of this.#handover.held()) this.#forget(requestId);
  }

  #loseRequest(requestId: string): void {
    if (!this.#handover.holds(requestId)) this.#revoke({ type: "LEASE_LOST", requestId });
    this.#forget(requestId);
  }

  #revoke(message: Extract<ThreadMessage, { type: "LEASE_LOST" | "CANCEL" }>): void {
    if (!this.#deps.isolated.has(message.requestId)) this.#deps.counters.addRevocation();
    this.#port.post(message);
  }

  #reply(request: InFlightRequest, response: Uint8Array): void {
    this.#inFlight.markReplied(request);
    this.#delivery.addReply(request.identity.requestId, response);
  }

  /** A gateway that did not agree to checkpoints is never sent one. */
  #onCheckpoint(requestId: string, sequence: number, ops: Uint8Array): void {
    if (!this.#negotiated || this.#extensions.includes("checkpoint")) {
      return this.#delivery.addCheckpoint(requestId, sequence, ops);
    }
    this.#port.post({ type: "CHECKPOINT_ACKED", requestId, sequence, outcome: "invalid" });
  }

  #answerCheckpoint(requestId: string, sequence: number, outcome: CheckpointOutcome): void {
    if (!this.#delivery.settleCheckpoint(requestId, sequence)) return;
    this.#port.post({ type: "CHECKPOINT_ACKED", requestId, sequence, outcome });
  }
}

/** News of an isolated request go to its thread. */
function portBy(isolated: IsolatedRequests, port: Pick<MainPort, "post">): Pick<MainPort, "post"> {
  return { post: (message) => (isNewsOf(isolated, message) ? isolated.post(message) : port.post(message)) };
}

function isNewsOf(isolated: IsolatedRequests, message: ThreadMessage): message is RequestNews {
  switch (message.type) {
    case "REPLY_ACKED":
    case "CHECKPOINT_ACKED":
    case "LEASE_EXTENDED":
    case "LEASE_LOST":
    case "CANCEL":
    case "RESULTS":
      return isolated.has(message.requestId);
    default:
      return false;
  }
}
