/**
 * Request ids name their dispatch: job id and epoch (docs/decisions/0007). Queue items are the same for checkpoints by
 * HTTP.
 */
import type { Fence } from "@holdfast/store";

/** Names a dispatch: the queue row and the epoch under which it was given out. */
export function requestIdOf(fence: Fence): string {
  return `${fence.jobId}.${fence.epoch}`;
}

/** What workers send back with checkpoints over HTTP: the request and its lease. */
export const queueItemOf = ({ requestId, leaseId }: { requestId: string; leaseId: string }): string =>
  `${requestId}~${leaseId}`;

/** The lease is "" where it names none. */
export function parseQueueItem(text: string): { requestId: string; leaseId: string } {
  const [requestId = "", leaseId = ""] = text.split("~");
  return { requestId, leaseId };
}

/** Undefined when it is not one of ours. */
export function parseRequestId(requestId: string): Fence | undefined {
  const dot = requestId.lastIndexOf(".");
  if (dot <= 0 || requestId.length > 128) return undefined;
  const digits = requestId.slice(dot + 1);
  if (!/^[1-9]\d{0,8}$/.test(digits)) return undefined;
  return { jobId: requestId.slice(0, dot), epoch: Number(digits) };
}
