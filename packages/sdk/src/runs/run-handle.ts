/** What stands for a run in the code that has started it: its state, its result, its end. */
import { backoffDelayMs, HoldfastError, sleep, whenAborted } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { type FollowOptions, followRuns } from "../events/follow-runs.ts";
import type { GatewayAccess } from "../events/gateway-access.ts";
import type { RunEvent } from "../events/run-events.ts";
import { cancelRun, type Run, type RunStatus } from "../events/runs.ts";
import type { SendPorts } from "../events/send-http.ts";
import { type DurationLike, durationMsOf } from "../steps/points-in-time.ts";
import { isPlainError, reviveError } from "../steps/revive-error.ts";
import { isFinal, isMissing, MISSING_MS, RETRY, seenRun } from "./run-lookup.ts";
import { untilEnded } from "./run-poll.ts";

export interface ResultOptions {
  /**
   * Stops waiting after this time, with `RUN_RESULT_TIMEOUT`, which changes nothing of the run. The error says what the
   * run is then, or, with the last failure as its cause, that no gateway could be asked. Default: never.
   * @example timeout: "30s"
   */
  readonly timeout?: DurationLike;
  /**
   * Stops waiting when it fires, with its reason; the run continues.
   * @example signal: AbortSignal.timeout(30_000)
   */
  readonly signal?: AbortSignal;
}

/** A run that was started. */
export interface RunHandle<Output = unknown> {
  readonly id: string;
  /**
   * As it is now. Of a run that a gateway has started or shown to this handle it waits for up to 30 s where gateways
   * restart, or write it again after a failover of the database; so does `cancel`.
   * @throws HoldfastError `NOT_FOUND`, `RUNS_UNAVAILABLE`
   */
  readonly status: () => Promise<RunStatus>;
  /**
   * Waits for the end of the run, or of what it went on as (`continueAs`), and gives what the function returned. Rejects
   * with the error that the run failed with; with `RUN_CANCELLED` when it was cancelled, which has a `compensation` if
   * the run was undoing its steps; with `NOT_FOUND` when there is no such run (any more). Gateways may come and go
   * meanwhile.
   * @throws HoldfastError `RUN_CANCELLED`, `RUN_RESULT_TIMEOUT`, `NOT_FOUND`, `RUNS_UNAVAILABLE`
   */
  readonly result: (options?: ResultOptions) => Promise<Output>;
  /** Cancels the run; false when it had ended already. */
  readonly cancel: () => Promise<boolean>;
  /** What happens to it, as it happens, until it has ended. */
  readonly follow: (options?: FollowOptions) => AsyncGenerator<RunEvent, void>;
}

/** What `invoke` gives. */
export interface InvokedRun<Output = unknown> extends RunHandle<Output> {
  /** `<app>-<function>`. */
  readonly functionId: string;
  /** The event that it was started with. */
  readonly eventId: string;
  /** False: `id` stands for a run that an earlier call has started. */
  readonly isNew: boolean;
}

/** `isKnown`: a gateway has just said that there is such a run. */
export function runHandle<Output>(
  access: GatewayAccess,
  id: string,
  ports: SendPorts,
  { isKnown = false }: { readonly isKnown?: boolean } = {},
): RunHandle<Output> {
  let isSeen = isKnown;
  const patiently = async <T>(ask: () => Promise<T>): Promise<T> => {
    const answer = await (isSeen ? untilAnswered(ask, ports) : ask());
    isSeen = true;
    return answer;
  };
  return {
    id,
    status: async () => (await patiently(() => existing(access, id, ports))).status,
    result: (options = {}) => resultOf<Output>(access, { id, isKnown: isSeen }, options, ports),
    cancel: () => patiently(() => cancelRun(access, id, ports)),
    follow: (options = {}) => followRuns(access, { runId: id }, options, ports),
  };
}

/** Asks again about a run that was there, as long as it may be away. */
async function untilAnswered<T>(ask: () => Promise<T>, { clock, timers, random }: SendPorts): Promise<T> {
  const askedMs = clock.monotonicMs();
  for (let failures = 1; ; failures += 1) {
    try {
      return await ask();
    } catch (error) {
      const isLasting = isFinal(error) && !isMissing(error);
      if (isLasting || clock.monotonicMs() - askedMs >= MISSING_MS) throw error;
      await sleep(timers, backoffDelayMs(RETRY, failures, random));
    }
  }
}

async function existing(access: GatewayAccess, id: string, ports: SendPorts): Promise<Run> {
  const run = await seenRun(access, id, ports);
  return run.continuedAs ? existing(access, run.continuedAs, ports) : run;
}

async function resultOf<Output>(
  access: GatewayAccess,
  { id, isKnown }: { readonly id: string; readonly isKnown: boolean },
  { timeout, signal }: ResultOptions,
  ports: SendPorts,
): Promise<Output> {
  const end = new AbortController();
  const timeoutMs = timeout === undefined ? Number.POSITIVE_INFINITY : durationMsOf(timeout, "timeout");
  const endsMs = ports.clock.monotonicMs() + timeoutMs;
  const timer = timeout === undefined ? null : ports.timers.set(timeoutMs, () => end.abort(TIMED_OUT));
  const unfollow = whenAborted(signal, () => end.abort(signal?.reason));
  let outcome: Run | HoldfastError;
  try {
    outcome = await untilEnded(access, { id, isKnown, endsMs }, ports, end.signal);
  } finally {
    timer?.cancel();
    unfollow();
  }
  if (!HoldfastError.is(outcome)) return outputOf<Output>(outcome);
  throw end.signal.reason === TIMED_OUT ? outcome : end.signal.reason;
}

const TIMED_OUT = Symbol("timed out");

function outputOf<Output>(run: Run): Output {
  switch (run.status) {
    case "COMPLETED":
      return run.output as Output;
    case "CANCELLED":
      throw cancelledOf(run);
    default:
      throw failureOf(run);
  }
}

/** One that was cancelled while it undid its steps has a report of that, and what it had failed with as the cause. */
function cancelledOf({ id, functionId, error }: Run): HoldfastError {
  const { message, cause, compensation } = isRecord(error) ? error : {};
  const why = typeof message === "string" ? `: ${message}` : ".";
  const failure = isPlainError(cause) ? { cause: reviveError(cause) } : {};
  const cancelled = new HoldfastError("RUN_CANCELLED", `Run ${id} of "${functionId}" was cancelled${why}`, failure);
  return Object.assign(cancelled, compensation && { compensation });
}

/** As the error that the function has thrown. */
function failureOf({ id, functionId, error }: Run): Error {
  const revived = isPlainError(error) ? reviveError(error) : new Error(`Run ${id} of "${functionId}" failed.`);
  for (const [name, value] of Object.entries({ runId: id, functionId })) {
    if (!(name in revived)) Object.defineProperty(revived, name, { value, configurable: true });
  }
  return revived;
}
