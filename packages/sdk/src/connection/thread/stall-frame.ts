import { encodeWorkerFrame, WIRE_LIMITS } from "@holdfast/protocol";
import { stackText } from "../machines/stall-text.ts";
import { placeOf, type StallReport } from "../shared/stall.ts";

/** The report as the gateway gets it. */
export function stallFrame(report: StallReport, ended: boolean): Uint8Array {
  const { execution, culprit, stack, sequence, suppressed, waiting, leasesGivenUp, cause, waitedMs, stalledMs } =
    report;
  return encodeWorkerFrame({
    kind: "WORKER_STALL",
    requestId: execution?.requestId ?? "",
    runId: execution?.runId ?? "",
    functionSlug: execution?.functionSlug ?? "",
    stepId: execution?.stepId ?? "",
    stalledMs,
    stack: stackText(stack, WIRE_LIMITS.maxStallStackLength),
    ended,
    location: culprit ? placeOf(culprit) : "",
    codeName: culprit?.functionName ?? "",
    sequence,
    suppressed,
    waiting,
    leasesGivenUp,
    waitedMs,
    noCpu: cause === "no-cpu",
  });
}
