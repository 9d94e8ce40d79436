import {
  type Clock,
  HoldfastError,
  type Log,
  type TimerHandle,
  type Timers,
  toPlainError,
  unreachable,
} from "@holdfast/core";
import {
  AGENT_FALLBACK_INTERVALS,
  type ConnectionReady,
  type ExecutorRequest,
  type Extension,
  encodeWorkerFrame,
  type GatewayFrame,
  type NackReason,
  type WorkerFrame,
} from "@holdfast/protocol";
import { decideIntake } from "../core/intake.ts";
import { parseIntervalMs } from "../core/intervals.ts";
import type { Lease } from "../core/lease-table.ts";
import { createRecentIds } from "../core/recent-ids.ts";
import type { AdoptedRequest, MainMessage } from "../shared/messages.ts";
import { encodeErrorReply, identityOf } from "../shared/reply.ts";
import type { SerializableConfig } from "../shared/serializable-config.ts";
import { createFlights, type Flight, type Flights } from "./flights.ts";
import type { GatewayHttp } from "./gateway-http.ts";
import { createMail, type Mail } from "./mail.ts";
import type { MainPort } from "./main-port.ts";

/** Dispatches that were answered and may still be delivered twice. */
const RECENT_IDS = 2_000;
const MIN_STATUS_MS = 2_000;

export interface DeskDeps {
  readonly config: SerializableConfig;
  readonly http: Pick<GatewayHttp, "flush">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly port: Pick<MainPort, "post">;
  readonly send: (bytes: Uint8Array) => boolean;
  /** Something in flight ended. */
  readonly onProgress: () => void;
}

/** Everything about requests: taking them in, their leases, their checkpoints and replies. */
export interface Desk {
  readonly flights: Flights;
  readonly mail: Mail;
  readonly extensions: readonly Extension[];
  adopt(requests: readonly AdoptedRequest[]): void;
  onUp(ready: ConnectionReady): void;
  onDown(): void;
  onFrame(frame: GatewayFrame, bytes: Uint8Array): void;
  onMain(message: WorkMessage): void;
  beginShutdown(): void;
  /** Gives back what still runs. */
  handBack(): void;
  stop(): void;
}

export type WorkMessage = Extract<MainMessage, { type: `EXECUTION_${string}` | "CHECKPOINT" }>;

export function createDesk(deps: DeskDeps): Desk {
  const { config, clock, timers, log, port } = deps;
  const flights = createFlights(clock);
  const finished = createRecentIds(RECENT_IDS);
  const apps: ReadonlySet<string> = new Set(config.apps.map((app) => app.appName));
  let extensions: readonly Extension[] = [];
  let negotiated = false;
  let shuttingDown = false;
  let rounds: TimerHandle[] = [];

  const send = (frame: WorkerFrame): void => void deps.send(encodeWorkerFrame(frame));

  const mail = createMail({ ...deps, flights, onDelivered: (requestId) => delivered(requestId) });

  const delivered = (requestId: string): void => {
    mail.withdraw(requestId);
    if (flights.remove(requestId) === undefined) return;
    finished.add(requestId);
    port.post({ type: "REPLY_ACKED", requestId });
    deps.onProgress();
  };

  const forget = (requestId: string): void => {
    mail.withdraw(requestId);
    flights.remove(requestId);
    deps.onProgress();
  };

  const extend = (leases: readonly Lease[]): void => {
    for (const { requestId, leaseId } of leases) {
      const flight = flights.get(requestId);
      if (flight) send({ kind: "WORKER_REQUEST_EXTEND_LEASE", ...flight.identity, leaseId });
    }
  };

  const every = (intervalMs: number, act: () => void): void => {
    const slot = rounds.length;
    const again = (): void => {
      rounds[slot] = timers.set(intervalMs, () => {
        again();
        act();
      });
    };
    again();
  };

  const stopRounds = (): void => {
    for (const timer of rounds) timer.cancel();
    rounds = [];
  };

  const refuse = (request: ExecutorRequest, reason: NackReason, message: string): void => {
    const { requestId, runId, leaseId } = request;
    const answered = extensions.includes("nack");
    if (answered) send({ kind: "WORKER_REQUEST_NACK", requestId, runId, leaseId, reason, message });
    log(answered && reason !== "UNKNOWN_APP" ? "debug" : "warn", `A request was refused: ${message}`, {
      requestId,
      runId,
      reason,
    });
  };

  const reply = (flight: Flight, response: Uint8Array): void => {
    flights.replied(flight);
    mail.addReply(flight.identity.requestId, response);
  };

  const onRequest = (request: ExecutorRequest, bytes: Uint8Array): void => {
    const intake = decideIntake(request, {
      apps,
      running: flights.running,
      maxRunning: config.maxWorkerConcurrency,
      shuttingDown,
      outboxFull: mail.full,
      isInFlight: (requestId) => flights.has(requestId),
      // Only our gateways name every dispatch anew.
      isFinished: (requestId) => extensions.length > 0 && finished.has(requestId),
    });
    switch (intake.verdict) {
      case "accept":
        flights.add(identityOf(request), request.leaseId);
        port.post({
          type: "EXECUTION_REQUEST",
          requestId: request.requestId,
          request: new Uint8Array(bytes),
          extensions,
        });
        // Leaves with the end of the turn, after the post.
        return send({ ...request, kind: "WORKER_REQUEST_ACK" });
      case "duplicate":
        return send({ ...request, kind: "WORKER_REQUEST_ACK" });
      case "finished":
        return log("debug", "A request that was answered already came again and was passed over.", {
          requestId: request.requestId,
        });
      case "malformed": {
        const error = new HoldfastError("REQUEST_INVALID", intake.message);
        log("error", error.message, { code: error.code, requestId: request.requestId });
        send({ ...request, kind: "WORKER_REQUEST_ACK" });
        return reply(
          flights.add(identityOf(request), request.leaseId),
          encodeErrorReply(request, toPlainError(error), config.sdkVersion),
        );
      }
      case "refuse":
        return refuse(request, intake.reason, intake.message);
      default:
        return unreachable(intake);
    }
  };

  const onLeaseAnswer = (requestId: string, newLeaseId: string | undefined): void => {
    const flight = flights.get(requestId);
    const answer = flights.leases.answer(requestId, newLeaseId, clock.monotonicMs());
    if (answer === "extended" && newLeaseId !== undefined) {
      port.post({ type: "LEASE_EXTENDED", requestId, leaseId: newLeaseId });
    }
    // A reply that is under way stays: its acknowledgement may have crossed, and a late result is the gateway's to judge.
    if (answer !== "lost" || flight?.state !== "running") return;
    log("warn", "The lease of a request was lost; its result will not be used.", {
      code: "LEASE_LOST",
      requestId,
      runId: flight.identity.runId,
    });
    port.post({ type: "LEASE_LOST", requestId });
    forget(requestId);
  };

  const answerCheckpoint = (requestId: string, sequence: number, outcome: "stored" | "stale" | "invalid"): void => {
    if (mail.settleCheckpoint(requestId, sequence))
      port.post({ type: "CHECKPOINT_ACKED", requestId, sequence, outcome });
  };

  const onMain = (message: WorkMessage): void => {
    const { requestId } = message;
    const flight = flights.get(requestId);
    // Its lease was lost while the message was under way; main is being told.
    if (flight === undefined) return;
    switch (message.type) {
      case "EXECUTION_RESPONSE":
        return reply(flight, message.response);
      case "EXECUTION_ERROR":
        return reply(flight, encodeErrorReply(flight.identity, message.error, config.sdkVersion));
      case "EXECUTION_DROPPED":
        return forget(requestId);
      case "CHECKPOINT":
        // A peer that did not agree to checkpoints must never see one.
        if (negotiated && !extensions.includes("checkpoint")) {
          const { sequence } = message;
          return port.post({ type: "CHECKPOINT_ACKED", requestId, sequence, outcome: "invalid" });
        }
        return mail.addCheckpoint(requestId, message.sequence, message.ops);
      default:
        return unreachable(message);
    }
  };

  return {
    flights,
    mail,
    get extensions() {
      return extensions;
    },
    adopt: (requests) => {
      for (const request of requests) {
        const flight = flights.add(request.identity, request.leaseId, request.ageMs);
        for (const { sequence, ops } of request.checkpoints)
          mail.addCheckpoint(flight.identity.requestId, sequence, ops);
        if (request.outcome?.kind === "response") reply(flight, request.outcome.response);
        if (request.outcome?.kind === "error") {
          reply(flight, encodeErrorReply(flight.identity, request.outcome.error, config.sdkVersion));
        }
      }
    },
    onUp: (ready) => {
      extensions = config.extensions.filter((name) => ready.extensions.includes(name));
      negotiated = true;
      stopRounds();
      extend(flights.leases.extendAll(clock.monotonicMs()));
      if (!extensions.includes("checkpoint")) {
        for (const { requestId, sequence } of mail.checkpoints()) answerCheckpoint(requestId, sequence, "invalid");
      }
      mail.linkUp();
      const leaseMs = parseIntervalMs(ready.extendLeaseInterval, AGENT_FALLBACK_INTERVALS.extendLeaseMs);
      every(leaseMs, () => extend(flights.leases.sweep(clock.monotonicMs(), leaseMs)));
      const statusMs = parseIntervalMs(ready.statusInterval, 0);
      if (statusMs > 0) {
        every(Math.max(statusMs, MIN_STATUS_MS), () =>
          send({
            kind: "WORKER_STATUS",
            inFlightRequestIds: [...flights.values()].map((flight) => flight.identity.requestId),
            shutdownRequested: shuttingDown,
          }),
        );
      }
    },
    onDown: () => {
      stopRounds();
      mail.linkDown();
    },
    onFrame: (frame, bytes) => {
      switch (frame.kind) {
        case "GATEWAY_EXECUTOR_REQUEST":
          return onRequest(frame, bytes);
        case "WORKER_REPLY_ACK":
          return delivered(frame.requestId);
        case "WORKER_REQUEST_EXTEND_LEASE_ACK":
          return onLeaseAnswer(frame.requestId, frame.newLeaseId);
        case "GATEWAY_CHECKPOINT_ACK":
          return answerCheckpoint(frame.requestId, frame.sequence, frame.outcome);
        case "GATEWAY_CANCEL":
          if (flights.has(frame.requestId)) {
            port.post({ type: "CANCEL", requestId: frame.requestId, reason: frame.reason });
          }
          return;
        default:
          log("warn", `The gateway sent ${frame.kind} at a wrong time; it was passed over.`);
      }
    },
    onMain,
    beginShutdown: () => {
      shuttingDown = true;
      mail.hurry();
    },
    handBack: () => {
      for (const flight of [...flights.values()]) {
        if (flight.state !== "running") continue;
        const { requestId, runId } = flight.identity;
        const leaseId = flights.leases.get(requestId)?.leaseId ?? "";
        const message = "The worker ended before the work was done.";
        if (extensions.includes("nack")) {
          send({ kind: "WORKER_REQUEST_NACK", requestId, runId, leaseId, reason: "DRAIN_TIMEOUT", message });
        }
        log("warn", "A request was not finished in time and was handed back.", {
          code: "DRAIN_TIMEOUT",
          requestId,
          runId,
        });
        port.post({ type: "LEASE_LOST", requestId });
        forget(requestId);
      }
    },
    stop: () => {
      stopRounds();
      mail.stop();
    },
  };
}
