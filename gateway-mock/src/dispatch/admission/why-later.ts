/** Of a run that waits, what comes by itself or from outside: retries, calls, sleeps, events, signals, runs. Pure. */
import { unreachable } from "@holdfast/core";
import { type OpenJob, plainName, type StoredWait } from "@holdfast/store";
import { attemptText, capital, ofStep, stepName } from "./step-words.ts";
import type { FoundReason, WaitingFacts } from "./waiting-facts.ts";
import type { FailedAttempt } from "./waiting-steps.ts";
import { quoted, spanText, timeText } from "./waiting-text.ts";

/** The failure after which the job is due: two clocks never agree on the millisecond. */
const SAME_MS = 1_500;

export function laterReason(facts: WaitingFacts, job: OpenJob): FoundReason {
  const { nowMs, steps } = facts;
  const distance = ({ nextMs }: FailedAttempt): number => Math.abs(nextMs - job.availableMs);
  const failures = steps.failures.filter((one) => distance(one) < SAME_MS);
  const [closest] = failures.sort((a, b) => distance(a) - distance(b));
  if (closest) {
    const message = `${capital(attemptText(facts, closest))}.`;
    return { reason: "RETRY", message, untilMs: job.availableMs, step: stepName(facts, closest.key) };
  }
  // Nothing but its event, or who invoked it, puts off a first pass that no gateway has claimed yet.
  const isFirst = job.kind === "pass" && job.iteration === 1 && job.epoch === 0;
  const at = `${timeText(job.availableMs)}, in ${spanText(job.availableMs - nowMs)}`;
  const message = isFirst ? `It is not to start before ${at}.` : `It goes on at ${at}.`;
  return { reason: "NOT_DUE", message, untilMs: job.availableMs };
}

export function callReason(facts: WaitingFacts, job: OpenJob, isHeld: boolean): FoundReason {
  const { nowMs, steps } = facts;
  const step = stepName(facts, job.key);
  if (isHeld) {
    const sinceMs = job.claimedMs === null ? 0 : nowMs - job.claimedMs;
    return { reason: "FETCHING", message: `The call of ${ofStep(step)} is under way for ${spanText(sinceMs)}.`, step };
  }
  if (job.availableMs <= nowMs) {
    return { reason: "FETCHING", message: `The call of ${ofStep(step)} is about to be made.`, step };
  }
  const failure = steps.failures.findLast(({ key }) => key === job.key);
  const message = failure ? capital(attemptText(facts, failure)) : `The call of ${ofStep(step)} is made later`;
  return { reason: "RETRY", message: `${message}.`, untilMs: job.availableMs, step };
}

/** The timer of a sleep, or the end of a wait. */
export function timerReason(facts: WaitingFacts, job: OpenJob): FoundReason {
  const { nowMs, run, steps } = facts;
  const wait = run.waits.find(({ key }) => key === job.key);
  const step = stepName(facts, job.key);
  if (wait) return waitReason(facts, wait, job.availableMs);
  if (job.availableMs <= nowMs) return { reason: "STARTING", message: `The time of ${ofStep(step)} is over.`, step };
  const at = `${timeText(job.availableMs)}, in ${spanText(job.availableMs - nowMs)}`;
  const op = steps.steps.get(job.key)?.op;
  // What it waited for was taken over by another step.
  const what = op === "WaitForSignal" ? "waits for its timeout in" : "sleeps in";
  return { reason: "SLEEPING", message: `It ${what} ${ofStep(step)} until ${at}.`, untilMs: job.availableMs, step };
}

export function waitReason(
  facts: WaitingFacts,
  { kind, key, name, expression, expiresMs }: StoredWait,
  dueMs: number | null,
): FoundReason {
  const step = stepName(facts, key);
  const untilMs = dueMs ?? expiresMs;
  const until = untilMs === null ? "" : ` until ${timeText(untilMs)}`;
  const plain = quoted(plainName(name));
  const where = step === null || step === plain ? "" : ` in ${ofStep(step)}`;
  switch (kind) {
    case "event":
    case "cancel": {
      const condition = expression === null ? "" : ` with \`${quoted(expression)}\``;
      return {
        reason: "EVENT",
        message: `It waits${where} for the event "${plain}"${condition}${until}.`,
        untilMs,
        step,
      };
    }
    case "signal":
      return { reason: "SIGNAL", message: `It waits${where} for the signal "${plain}"${until}.`, untilMs, step };
    case "invoke":
      return {
        reason: "CHILD_RUN",
        message: `It waits${where} for the run ${plain} that it invoked${until}.`,
        untilMs,
        step,
        runId: plain,
      };
    default:
      return unreachable(kind);
  }
}
