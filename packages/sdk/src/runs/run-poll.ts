/**
 * Waits for the end of a run at whatever gateway answers, and says what is known of the run when the time is over. Few
 * words: it is part of `holdfast/client`, whose size counts.
 */
import { backoffDelayMs, HoldfastError, messageOf, sleep } from "@holdfast/core";
import type { GatewayAccess } from "../events/gateway-access.ts";
import type { Run } from "../events/runs.ts";
import type { SendPorts } from "../events/send-http.ts";
import { isFinal, isMissing, MISSING_MS, RETRY, seenRun } from "./run-lookup.ts";

/** Of one request: gateways allow a minute. */
const POLL_MS = 30_000;
/** Of the time that a caller still waits; the rest is for the answer, which says what the run is then. */
const WAIT_SHARE = 0.75;
/** A gateway that shuts down, or one that knows no waiting, answers sooner; one that answers so much later is silent. */
const SLACK_MS = 1_000;
const PAUSE_MS = 250;
/** How long no gateway may answer. */
const PATIENCE_MS = 300_000;

export interface PolledRun {
  readonly id: string;
  /** A gateway has said that there is such a run. */
  readonly isKnown: boolean;
  /** When the signal fires by the clock. */
  readonly endsMs: number;
}

/**
 * Asks for a run again and again, each time as long as gateways allow, until it has ended. When the signal has fired
 * before: the error for a time that is over.
 */
export async function untilEnded(
  access: GatewayAccess,
  asked: PolledRun,
  ports: SendPorts,
  signal: AbortSignal,
): Promise<Run | HoldfastError> {
  const { clock, timers, random } = ports;
  let { id, isKnown } = asked;
  let last: Run | undefined;
  /** When a gateway last reported on the run, or the wait began. */
  let heardMs = clock.monotonicMs();
  /** When the answer to the last call was due. */
  let dueMs = 0;
  /** Of the last call, if it failed. */
  let cause: unknown;
  let missingMs: number | null = null;
  for (let failures = 0; !signal.aborted; ) {
    const askedMs = clock.monotonicMs();
    // A gateway that waited until nothing waits for it any more would have said nothing of the run.
    const waitMs = Math.min(POLL_MS, Math.ceil(Math.max(0, asked.endsMs - askedMs) * WAIT_SHARE));
    dueMs = askedMs + waitMs;
    try {
      const run = await seenRun(access, id, ports, { waitMs, signal });
      last = run;
      heardMs = clock.monotonicMs();
      isKnown = true;
      missingMs = null;
      cause = undefined;
      failures = 0;
      const next = run.endedMs === null ? null : run.continuedAs;
      if (run.endedMs !== null && !next) return run;
      // It went on as another run: the end of that one is meant.
      id = next ?? id;
      if (!next && heardMs - askedMs < SLACK_MS) await sleep(timers, PAUSE_MS, signal);
    } catch (error) {
      if (signal.aborted) break;
      failures += 1;
      cause = error;
      const nowMs = clock.monotonicMs();
      if (isMissing(error)) missingMs ??= nowMs;
      const isBrief = isKnown && isMissing(error) && nowMs - (missingMs ?? nowMs) < MISSING_MS;
      if (nowMs - heardMs > PATIENCE_MS || (isFinal(error) && !isBrief)) throw error;
      await sleep(timers, backoffDelayMs(RETRY, failures, random), signal);
    }
  }
  const nowMs = clock.monotonicMs();
  const isFresh = cause === undefined && nowMs - dueMs <= SLACK_MS;
  const text = isFresh && last ? stateOf(last) : unsure(isKnown, nowMs - heardMs);
  const why = cause === undefined ? "" : ` ${messageOf(cause)}`;
  return new HoldfastError("RUN_RESULT_TIMEOUT", `Run ${asked.id} had not ended in time: ${text}${why}`, { cause });
}

/** What is known of the run may be out of date. */
const unsure = (isKnown: boolean, forMs: number): string =>
  isKnown
    ? `no gateway has reported on it for ${Math.round(forMs / 100) / 10} s, so its current state is unknown.`
    : "no gateway has confirmed yet that this run exists.";

const stateOf = ({ status, waiting }: Pick<Run, "status" | "waiting">): string =>
  `it is ${status}${waiting ? `. ${waiting.message.replace(/\.$/, "")}` : ""}. It goes on.`;
