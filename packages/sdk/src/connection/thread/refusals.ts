/**
 * Requests that go back to the gateway: rejected, handed back at the end, or unreadable. Gateways of the base protocol
 * know no refusal; for them the request's lease runs out.
 */
import { HoldfastError, type Log, toPlainError } from "@holdfast/core";
import type { ExecutorRequest, Extension, NackReason, WorkerFrame } from "@holdfast/protocol";
import { encodeErrorReply, identityOf } from "../shared/reply.ts";
import type { SerializableConfig } from "../shared/serializable-config.ts";

export interface RefusalsDeps {
  readonly config: Pick<SerializableConfig, "sdkVersion">;
  readonly log: Log;
  readonly send: (frame: WorkerFrame) => void;
  readonly extensions: () => readonly Extension[];
}

type NackIdentity = Pick<ExecutorRequest, "requestId" | "runId">;

export class Refusals {
  readonly #deps: RefusalsDeps;

  constructor(deps: RefusalsDeps) {
    this.#deps = deps;
  }

  /** False = the gateway does not understand refusals. */
  nack({ requestId, runId }: NackIdentity, leaseId: string, reason: NackReason, message: string): boolean {
    const { extensions, send } = this.#deps;
    if (!extensions().includes("nack")) return false;
    send({ kind: "WORKER_REQUEST_NACK", requestId, runId, leaseId, reason, message });
    return true;
  }

  /** What was not done in time. */
  handBackRequest({ requestId, runId }: NackIdentity, leaseId: string): void {
    this.nack({ requestId, runId }, leaseId, "DRAIN_TIMEOUT", "The worker shut down before the work was done.");
    const data = { code: "DRAIN_TIMEOUT", requestId, runId };
    this.#deps.log("warn", "A request had not finished in time and was returned to the gateway.", data);
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
