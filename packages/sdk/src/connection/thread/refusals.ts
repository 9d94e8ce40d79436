/**
 * Requests that go back to the gateway: rejected, handed back at the end, or unreadable. Gateways of the base protocol
 * know no refusal; for them the request's lease runs out.
 */
import { type Clock, durationText, HoldfastError, type Log, toPlainError } from "@holdfast/core";
import type { ExecutorRequest, Extension, NackReason, WorkerFrame } from "@holdfast/protocol";
import { encodeErrorReply, identityOf } from "../shared/reply.ts";
import type { SerializableConfig } from "../shared/serializable-config.ts";

export interface RefusalsDeps {
  readonly config: Pick<SerializableConfig, "sdkVersion">;
  readonly clock: Clock;
  readonly log: Log;
  readonly send: (frame: WorkerFrame) => void;
  readonly extensions: () => readonly Extension[];
}

type NackIdentity = Pick<ExecutorRequest, "requestId" | "runId">;

export class Refusals {
  readonly #deps: RefusalsDeps;
  /** Null: there is a connection to a gateway. */
  #unlinkedSinceMs: number | null;

  constructor(deps: RefusalsDeps) {
    this.#deps = deps;
    this.#unlinkedSinceMs = deps.clock.monotonicMs();
  }

  get isLinked(): boolean {
    return this.#unlinkedSinceMs === null;
  }

  onLinkUp(): void {
    this.#unlinkedSinceMs = null;
  }

  onLinkDown(): void {
    this.#unlinkedSinceMs = this.#deps.clock.monotonicMs();
  }

  /** False = the gateway is not told: it does not understand refusals, or there is no connection to one. */
  nack({ requestId, runId }: NackIdentity, leaseId: string, reason: NackReason, message: string): boolean {
    if (!this.#isHeard()) return false;
    this.#deps.send({ kind: "WORKER_REQUEST_NACK", requestId, runId, leaseId, reason, message });
    return true;
  }

  /** What was not done in time. */
  handBackRequest({ requestId, runId }: NackIdentity, leaseId: string): void {
    this.nack({ requestId, runId }, leaseId, "DRAIN_TIMEOUT", "The worker shut down before the work was done.");
    const outcome = this.#isHeard() ? " and was returned to the gateway." : this.#notReturned();
    const data = { code: "DRAIN_TIMEOUT", requestId, runId };
    this.#deps.log("warn", `A request had not finished in time${outcome}`, data);
  }

  #isHeard(): boolean {
    return this.isLinked && this.#deps.extensions().includes("nack");
  }

  #notReturned(): string {
    const next = "gives the work to another worker once the lease has expired.";
    if (this.#unlinkedSinceMs === null) return `. This gateway does not take requests back: it ${next}`;
    const forText = durationText(this.#deps.clock.monotonicMs() - this.#unlinkedSinceMs);
    return ` and could not be returned: there has been no connection to a gateway for ${forText}. A gateway ${next}`;
  }

  /** What is not taken in. */
  refuseRequest({ requestId, runId, leaseId }: ExecutorRequest, reason: NackReason, message: string): void {
    const answered = this.nack({ requestId, runId }, leaseId, reason, message);
    const level = answered && reason !== "UNKNOWN_APP" ? "debug" : "warn";
    this.#deps.log(level, `Rejected a request: ${message}`, { requestId, runId, reason });
  }

  /** What cannot be read is taken, and answered with this. */
  answerMalformed(request: ExecutorRequest, message: string): Uint8Array {
    const { log, send, config } = this.#deps;
    const error = new HoldfastError("REQUEST_INVALID", message);
    const identity = identityOf(request);
    log("error", message, { code: error.code, requestId: request.requestId });
    send({ ...identity, kind: "WORKER_REQUEST_ACK" });
    return encodeErrorReply(identity, toPlainError(error), config.sdkVersion);
  }
}
