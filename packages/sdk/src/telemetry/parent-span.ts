/** Under which spans the code of a request runs; the gateway makes these spans, from what it has stored. */
import { attemptSpanName, idOfDigest, type RequestTrace } from "@holdfast/protocol";
import { nodeModule } from "../runtime.ts";
import type { ParentSpan } from "./tracing.ts";

/** The span of this attempt of a step, or that of the handler. */
export function parentSpan(
  trace: RequestTrace,
  step?: { readonly hash: string; readonly attempt: number },
): ParentSpan {
  const { handler, runSpanId } = trace;
  if (step === undefined || runSpanId === undefined) return handler;
  const name = attemptSpanName(runSpanId, step.hash, step.attempt);
  return { ...handler, spanId: idOfDigest(nodeModule("node:crypto").hash("sha1", name, "hex"), 16) };
}
