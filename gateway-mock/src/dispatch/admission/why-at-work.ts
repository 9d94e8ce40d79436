/** Of a run that waits, the work that a worker has: who has it, since when, and whether anything was heard of it. Pure. */
import { unreachable } from "@holdfast/core";
import type { RunningStep } from "@holdfast/protocol";
import type { OpenJob } from "@holdfast/store";
import { attemptText, ofStep, stepName } from "./step-words.ts";
import type { FoundReason, Holder, WaitingFacts } from "./waiting-facts.ts";
import type { WaitingSteps } from "./waiting-steps.ts";
import { quoted, slowText, spanText } from "./waiting-text.ts";

export function heldReason(facts: WaitingFacts, job: OpenJob): FoundReason {
  const { nowMs, steps } = facts;
  const holder = facts.holderOf(job);
  const sinceMs = job.claimedMs === null ? 0 : nowMs - job.claimedMs;
  const step = job.kind === "step" ? stepName(facts, job.key) : null;
  const what = job.kind === "step" ? ` with ${ofStep(step)}` : "";
  const leaseEnds = `its lease ends in ${spanText(job.availableMs - nowMs)}, then another worker gets the work`;
  switch (holder.at) {
    case "gateway":
      return { reason: "STARTING", message: `It is being handed to a worker${slowText(facts)}.`, step };
    case "elsewhere": {
      const [only] = holder.instanceIds;
      const isOne = holder.instanceIds.length === 1 && only !== undefined;
      const who = isOne ? `worker "${quoted(only)}" of another gateway` : "a worker of another gateway";
      const about = { step, instanceId: isOne ? only : null };
      if (holder.silentMs !== null) {
        const message = `It is at ${who}, of which nothing was heard for ${spanText(holder.silentMs)}; ${leaseEnds}.`;
        return { reason: "LEASE_SILENT", message, untilMs: job.availableMs, ...about };
      }
      const message = `It is at work on ${who} for ${spanText(sinceMs)}${what || afterStep(facts)}.`;
      return { reason: "AT_WORK", message, ...about };
    }
    case "here": {
      const { instanceId, isAcked, silentMs, extendLeaseMs, lostMs, running, stall: reported } = holder;
      const who = `worker "${quoted(instanceId)}"`;
      const about = { step, instanceId };
      if (lostMs !== null) {
        const message = `Its ${who} lost its connection ${spanText(lostMs)} ago; if it does not come back, another worker gets the work.`;
        return { reason: "WORKER_DISCONNECTED", message, untilMs: job.availableMs, ...about };
      }
      if (!isAcked) {
        const message = `It was sent to ${who} ${spanText(silentMs)} ago, which has not acknowledged it yet.`;
        return { reason: "SENT", message, ...about };
      }
      if (silentMs > 2 * extendLeaseMs) {
        const message = `Its ${who} has said nothing of it for ${spanText(silentMs)}; ${leaseEnds}.`;
        return { reason: "LEASE_SILENT", message, untilMs: job.availableMs, ...about };
      }
      const own = steps.stalls.get(`${job.id}.${job.epoch}`);
      const blocked = own && !own.ended ? blockedText(own, nowMs) : reportedText(reported, facts);
      const retry = blocked === "" && job.kind === "pass" ? retryInPlace(facts) : "";
      // What it said may have ended since: then its result is the last that was stored.
      const now = running.filter(({ id }) => id !== facts.lastStep);
      const where = what || inSteps(now) || afterStep(facts);
      const message = `It is at work on ${who} for ${spanText(sinceMs)}${where}${blocked}${retry}.`;
      return { reason: "AT_WORK", message, ...about, step: step ?? now[0]?.id ?? null };
    }
    default:
      return unreachable(holder);
  }
}

/** Where a pass in place is. */
function inSteps([first, ...others]: readonly RunningStep[]): string {
  if (first === undefined) return "";
  const more = others.length === 0 ? "" : ` and ${others.length} other${others.length === 1 ? "" : "s"}`;
  return `, in ${ofStep(first.id)} for ${spanText(first.runningMs)}${more}`;
}

/** How far it is, where no step of it has been running for long. */
const afterStep = ({ lastStep }: WaitingFacts): string => (lastStep === null ? "" : `, after ${ofStep(lastStep)}`);

type ReportedStall = Extract<Holder, { at: "here" }>["stall"];

function blockedText(
  { atMs, cause, stalledMs, location, stepId }: NonNullable<ReturnType<WaitingSteps["stalls"]["get"]>>,
  nowMs: number,
): string {
  const where = location === undefined ? "" : ` at ${quoted(location)}`;
  const step = stepId === undefined ? "" : ` in ${ofStep(stepId)}`;
  if (cause === "no-cpu")
    return `; the worker's main thread is given no processor, for ${spanText(stalledMs + nowMs - atMs)}`;
  return `; the worker's main thread is blocked for ${spanText(stalledMs + nowMs - atMs)}${step}${where}`;
}

/** What its worker has reported last: mostly of another run, whose code has the thread that this one needs. */
function reportedText(stall: ReportedStall, { nowMs, run }: WaitingFacts): string {
  if (stall === null) return "";
  const isOthers = stall.runId !== null && stall.runId !== run.head.id;
  const whose = isOthers ? ` by the run ${quoted(stall.runId)}` : "";
  return `${blockedText({ ...stall, atMs: nowMs - stall.agoMs }, nowMs)}${stall.cause === "blocked" ? whose : ""}`;
}

/** A step whose next attempt the pass makes by itself. */
function retryInPlace(facts: WaitingFacts): string {
  const failure = facts.steps.failures.findLast(({ nextMs }) => nextMs > facts.nowMs);
  return failure ? `; ${attemptText(facts, failure)}` : "";
}
