/** Which runs are past their time. Every store removes by these rules; the SQL of them is in the migrations. Pure. */
import type { Retention, RetentionPolicy } from "../port/retention.ts";
import type { RunHead } from "../port/work.ts";

export const retentionOf = (policy: RetentionPolicy, functionId: string): Retention =>
  policy.functions.get(functionId) ?? policy;

/** Whether a run has ended, and was kept as long as it has to be. What depends on it is another question. */
export function isPastRetention(head: RunHead, policy: RetentionPolicy, nowMs: number): boolean {
  if (head.endedMs === null) return false;
  const { completedMs, failedMs } = retentionOf(policy, head.functionId);
  const keptMs = head.status === "FAILED" ? failedMs : completedMs;
  return keptMs !== null && head.endedMs < nowMs - keptMs;
}

/**
 * The least time that an event is kept, since a sender that was not answered may send it again: until then it would make
 * its runs anew.
 */
export const LEAST_EVENT_MS = 86_400_000;

/** The shortest of all periods; null = nothing ever goes. */
export function shortestMs(policy: RetentionPolicy): number | null {
  const all = [policy, ...policy.functions.values()].flatMap(({ completedMs, failedMs }) => [completedMs, failedMs]);
  const given = all.filter((ms) => ms !== null);
  return given.length === 0 ? null : Math.min(...given);
}
