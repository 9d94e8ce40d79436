/** Of a run that waits, the work that is due and that no worker has: what it waits for inside of Holdfast. Pure. */
import { DEFAULT_QUEUE } from "@holdfast/protocol";
import { MAX_AHEAD, type OpenJob, plainName } from "@holdfast/store";
import { closedText } from "./closed-workers.ts";
import { stepName } from "./step-words.ts";
import type { FoundReason, LimitFacts, ThrottleFacts, WaitingFacts } from "./waiting-facts.ts";
import { plural, quoted, slowText, spanText, timeText } from "./waiting-text.ts";

export function dueReason(facts: WaitingFacts, job: OpenJob): FoundReason {
  const { nowMs, run, pause, isDraining, hasRoom, ahead } = facts;
  const appId = plainName(run.head.appId);
  const step = job.kind === "step" ? stepName(facts, job.key) : null;
  if (pause) {
    const note = pause.note === null ? "" : `: ${quoted(pause.note)}`;
    const message = `Its function is paused since ${timeText(pause.sinceMs)}${note}.`;
    return { reason: "FUNCTION_PAUSED", message, step };
  }
  const missing = whyNoWorker(facts);
  if (missing) return { ...missing, step };
  if (isDraining) return { reason: "GATEWAY_DRAINING", message: "This gateway is shutting down.", step };
  if (facts.hasNewLimits) return { reason: "LIMITS", message: NEW_LIMITS, step };
  const full = job.leasedBy === null ? facts.limits.find(({ limit, use }) => use.taken >= limit) : undefined;
  if (full) return { ...fullText(full, nowMs), step };
  if (facts.throttle !== null && facts.throttle.nextMs > nowMs) {
    return { ...throttledText(facts.throttle, nowMs), step };
  }
  if (job.wantedVersion !== null) {
    const message = `It waits for a place at a worker with version "${quoted(job.wantedVersion)}" of the app "${appId}".`;
    return { reason: "VERSION", message, step };
  }
  if (!hasRoom) {
    const open = mayRun(facts).filter(({ isOpen }) => isOpen);
    const silentMs = Math.min(...open.map((one) => one.elsewhereSilentMs ?? Number.POSITIVE_INFINITY));
    if (Number.isFinite(silentMs) && open.every(({ isOpenHere }) => !isOpenHere)) {
      // Whether these have room, or have died with their gateway, is not known here.
      const sign = `gave its last sign of life ${spanText(silentMs)} ago`;
      const message = `The workers of the app "${appId}" that may run it are at another gateway, which ${sign}${aheadText(ahead)}.`;
      return { reason: "NO_ROOM", message, step };
    }
    const message = `All workers of the app "${appId}" that may run it are busy${aheadText(ahead)}.`;
    return { reason: "NO_ROOM", message, step };
  }
  if (ahead > 0) {
    return { reason: "BACKLOG", message: `${runsAhead(ahead)} of its function ${come(ahead)} before it.`, step };
  }
  const lost =
    job.leasedBy === null ? "" : `Its lease ended ${spanText(nowMs - job.availableMs)} ago without a result; it`;
  return {
    reason: "STARTING",
    message: `${lost === "" ? "It" : lost} is about to be given to a worker${slowText(facts)}.`,
    step,
  };
}

const NEW_LIMITS = "Its function has new limits: all of its runs are to be counted by them before more start.";

const runsAhead = (ahead: number): string => (ahead >= MAX_AHEAD ? `${MAX_AHEAD} or more runs` : plural(ahead, "run"));
const come = (ahead: number): string => (ahead === 1 ? "comes" : "come");
const aheadText = (ahead: number): string => (ahead === 0 ? "" : `, and ${runsAhead(ahead)} ${come(ahead)} before it`);

function fullText({ limit, key, use }: LimitFacts, nowMs: number): FoundReason {
  const of = key === null ? "" : ` of \`${quoted(key)}\``;
  const are = use.taken === 1 ? "is" : "are";
  const oldest =
    use.oldest === null
      ? ""
      : `, ${use.taken === 1 ? "" : "the oldest "}for ${spanText(nowMs - use.oldest.claimedMs)}: ${use.oldest.runId}`;
  const message = `It waits for a place: ${use.taken} of ${plural(limit, "run")}${of} ${are} at work${oldest}.`;
  return { reason: "LIMITS", message, runId: use.oldest?.runId ?? null };
}

/** Those before it take the next starts, so that each in line has an instant of its own. */
function throttledText({ nextMs, everyMs, ahead, hasKey }: ThrottleFacts, nowMs: number): FoundReason {
  const untilMs = Math.round(nextMs + ahead * everyMs);
  const next = `may start in ${spanText(nextMs - nowMs)}`;
  const runs = `${runsAhead(ahead)}${hasKey ? " with the same key" : ""}`;
  const message =
    ahead === 0
      ? `Its function is throttled: it ${next}.`
      : `Its function is throttled: ${runs} ${come(ahead)} before it. The next one ${next}, this one in ${spanText(untilMs - nowMs)} at the earliest.`;
  return { reason: "THROTTLED", message, untilMs };
}

const wantedVersion = ({ begunBy, versionPolicy, rolledOut }: WaitingFacts): string | null =>
  begunBy ?? (versionPolicy === "strict" ? rolledOut : null);

function mayRun(facts: WaitingFacts): WaitingFacts["versions"] {
  const wanted = wantedVersion(facts);
  if (facts.versionPolicy !== "strict" || wanted === null) return facts.versions;
  return facts.versions.filter(({ version }) => version === wanted);
}

function whyNoWorker(facts: WaitingFacts): FoundReason | null {
  const { run, begunBy, versions } = facts;
  const appId = plainName(run.head.appId);
  const wanted = wantedVersion(facts);
  const may = mayRun(facts);
  if (may.some(({ isOpen }) => isOpen)) return null;
  if (may.some(({ isConnected }) => isConnected)) {
    return { reason: "NO_ROOM", message: closedText(appId, facts.closed(may)) };
  }
  if (versions.some(({ isConnected }) => isConnected)) {
    const how = begunBy === null ? "Its app's rollout begins it with" : "It began with";
    const message = `${how} version "${quoted(wanted ?? "")}" of the app "${appId}", of which no worker is connected.`;
    return { reason: "VERSION", message };
  }
  const queue = (may[0] ?? versions[0])?.queue ?? DEFAULT_QUEUE;
  if (queue === DEFAULT_QUEUE) {
    const last = seenText(facts.seenMs, facts.nowMs);
    return { reason: "NO_WORKER", message: `${noWorkerHas(plainName(run.head.functionId))}${last}.` };
  }
  // When the function was here last says nothing of the queue: its other workers serve other ones.
  return { reason: "NO_WORKER_IN_QUEUE", message: `${noWorkerInQueue(appId, queue)}.` };
}

export const noWorkerHas = (functionId: string): string => `No connected worker has the function "${functionId}"`;

export const noWorkerInQueue = (appId: string, queue: string): string =>
  `No connected worker of the app "${appId}" serves the queue "${queue}"`;

export const seenText = (seenMs: number | null, nowMs: number): string =>
  seenMs === null ? "" : `; the last one was here ${spanText(nowMs - seenMs)} ago`;
