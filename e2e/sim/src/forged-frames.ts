/** The frames that an impostor sends about requests that are not its own; `impostor.ts` sends them. */
import {
  type ExecutorRequest,
  encodeJsonBytes,
  type Op,
  type WorkerFrame,
} from "../../../packages/protocol/src/index.ts";

/** What an impostor says is in none of the honest workers' results. */
export const FORGED = "an impostor said so";

/** Ways of acting on a request. */
export const KINDS = [
  "reply",
  "checkpoint",
  "extend",
  "refuse",
  "acknowledge",
  "stall",
  "flush",
  "checkpoint by HTTP",
] as const;

export const FORGED_OP: Op = { op: "StepRun", id: "f".repeat(40), data: FORGED, opts: {} };

export const replyTo = (request: ExecutorRequest): Extract<WorkerFrame, { kind: "WORKER_REPLY" }> => ({
  ...request,
  kind: "WORKER_REPLY",
  status: "DONE",
  body: encodeJsonBytes(FORGED),
  noRetry: false,
  sdkVersion: "holdfast-js:impostor",
  requestVersion: 2,
});

type Spoken = Exclude<(typeof KINDS)[number], "flush" | "checkpoint by HTTP">;

export function frameOf(kind: Spoken, request: ExecutorRequest, leaseId: string): WorkerFrame {
  const { requestId, runId, functionSlug } = request;
  switch (kind) {
    case "reply":
      return replyTo(request);
    case "checkpoint":
      return { kind: "WORKER_CHECKPOINT", requestId, runId, leaseId, sequence: 1, ops: encodeJsonBytes([FORGED_OP]) };
    case "extend":
      return { ...request, kind: "WORKER_REQUEST_EXTEND_LEASE", leaseId };
    case "refuse":
      return { kind: "WORKER_REQUEST_NACK", requestId, runId, leaseId, reason: "MALFORMED", message: FORGED };
    case "acknowledge":
      return { ...request, kind: "WORKER_REQUEST_ACK" };
    case "stall":
      return {
        ...{ kind: "WORKER_STALL", requestId, runId, functionSlug, stepId: "", stalledMs: 1_500, location: FORGED },
        ...{ codeName: "", stack: "", ended: false, leasesGivenUp: false, sequence: 1, suppressed: 0, waiting: 0 },
        ...{ waitedMs: 0, noCpu: false },
      } as const;
  }
}
