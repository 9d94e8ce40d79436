/** What stands for a run in the code that has started it: its state, its result, its end. */
import { backoffDelayMs, HoldfastError, sleep, whenAborted } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { type FollowOptions, followRuns } from "../events/follow-runs.ts";
import { apiBase, type GatewayAccess } from "../events/gateway-access.ts";
import type { RunEvent } from "../events/run-events.ts";
import { cancelRun, type FetchWait, lookUpRun, type Run, type RunStatus } from "../events/runs.ts";
import type { SendPorts } from "../events/send-http.ts";
import { type DurationLike, durationMsOf } from "../steps/points-in-time.ts";
import { isPlainError, reviveError } from "../steps/revive-error.ts";

export interface ResultOptions {
  /**
   * Stops waiting after this time, with `RUN_RESULT_TIMEOUT`; the run continues. Default: never.
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
   * Waits for the end of the run, or of what it went on as (`continueAs`), and gives what the function returned. Rejects with the error that the run failed with;
   * with `RUN_CANCELLED` when it was cancelled; with `NOT_FOUND` when there is no such run (any more). Gateways may come
   * and go meanwhile.
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

/** Of one request: gateways allow a minute. */
const POLL_MS = 30_000;
/** Of the time that a caller still waits; the rest is for the answer, which says what the run is then. */
const WAIT_SHARE = 0.75;
/** A gateway that shuts down, or one that knows no waiting, answers sooner. */
const EARLY_MS = 1_000;
const PAUSE_MS = 250;
/** How long no gateway may answer. */
const PATIENCE_MS = 300_000;
/** After a failover gateways write again what the new server lacks: a run that was there may be away for so long. */
const MISSING_MS = 30_000;
const RETRY = { baseMs: 250, factor: 2, maxMs: 5_000, jitter: 0.5 } as const;

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
  const run = await seen(access, id, ports);
  return run.continuedAs ? existing(access, run.continuedAs, ports) : run;
}

async function seen(access: GatewayAccess, id: string, ports: SendPorts, wait?: FetchWait): Promise<Run> {
  const run = await lookUpRun(access, id, ports, wait);
  if (run === "GONE") throw noSuchRun(access, id);
  if (run === "NOWHERE") throw new HoldfastError("RUNS_UNAVAILABLE", `No gateway knows of run ${id} now.`);
  return run;
}

const noSuchRun = (access: GatewayAccess, id: string): HoldfastError =>
  new HoldfastError("NOT_FOUND", `There is no run ${id} (any more) at ${apiBase(access)}.`);

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
  const poll = new Poll(access, { id, isKnown, endsMs }, ports, end.signal);
  try {
    const run = await poll.untilEnded();
    if (run) return outputOf<Output>(run);
  } finally {
    timer?.cancel();
    unfollow();
  }
  if (end.signal.reason !== TIMED_OUT) throw end.signal.reason;
  throw new HoldfastError("RUN_RESULT_TIMEOUT", `Run ${id} had not ended in time${poll.lastSeen()}`);
}

const TIMED_OUT = Symbol("timed out");

/** Asks for a run again and again, each time as long as gateways allow, until it has ended. */
class Poll {
  readonly #access: GatewayAccess;
  #id: string;
  readonly #ports: SendPorts;
  readonly #signal: AbortSignal;
  /** When the signal fires by the clock. */
  readonly #endsMs: number;
  #isKnown: boolean;
  #last: Run | undefined;

  constructor(
    access: GatewayAccess,
    { id, isKnown, endsMs }: { readonly id: string; readonly isKnown: boolean; readonly endsMs: number },
    ports: SendPorts,
    signal: AbortSignal,
  ) {
    this.#endsMs = endsMs;
    this.#access = access;
    this.#id = id;
    this.#isKnown = isKnown;
    this.#ports = ports;
    this.#signal = signal;
  }

  /** Null when the signal has fired before. */
  async untilEnded(): Promise<Run | null> {
    const { clock, timers, random } = this.#ports;
    let answeredMs = clock.monotonicMs();
    let missingMs: number | null = null;
    for (let failures = 0; !this.#signal.aborted; ) {
      const askedMs = clock.monotonicMs();
      try {
        const run = await seen(this.#access, this.#id, this.#ports, {
          waitMs: this.#waitMs(askedMs),
          signal: this.#signal,
        });
        missingMs = null;
        this.#isKnown = true;
        const next = run.endedMs === null ? null : run.continuedAs;
        if (run.endedMs !== null && !next) return run;
        // It went on as another run: the end of that one is meant.
        this.#id = next ?? this.#id;
        this.#last = run;
        failures = 0;
        answeredMs = clock.monotonicMs();
        if (!next && answeredMs - askedMs < EARLY_MS) await sleep(timers, PAUSE_MS, this.#signal);
      } catch (error) {
        if (this.#signal.aborted) return null;
        failures += 1;
        const nowMs = clock.monotonicMs();
        if (isMissing(error)) missingMs ??= nowMs;
        const isBrief = this.#isKnown && isMissing(error) && nowMs - (missingMs ?? nowMs) < MISSING_MS;
        if (nowMs - answeredMs > PATIENCE_MS || (isFinal(error) && !isBrief)) throw error;
        await sleep(timers, backoffDelayMs(RETRY, failures, random), this.#signal);
      }
    }
    return null;
  }

  /** A gateway that waited until nothing waits for it any more would have said nothing of the run. */
  #waitMs(nowMs: number): number {
    return Math.min(POLL_MS, Math.ceil(Math.max(0, this.#endsMs - nowMs) * WAIT_SHARE));
  }

  /** What the run was at last, for a message. */
  lastSeen(): string {
    if (!this.#last) return this.#isKnown ? ". It goes on." : ": no gateway has said yet whether there is such a run.";
    const { status, waiting } = this.#last;
    return `: it is ${status}${waiting ? `. ${waiting.message.replace(/\.$/, "")}` : ""}. It goes on.`;
  }
}

/** The gateway has refused; asking again does not help. */
function isFinal(error: unknown): boolean {
  return (
    !HoldfastError.is(error) ||
    error.code !== "RUNS_UNAVAILABLE" ||
    /: 4\d\d |rejected the signing key/.test(error.message)
  );
}

const isMissing = (error: unknown): boolean => HoldfastError.is(error) && error.code === "NOT_FOUND";

function outputOf<Output>(run: Run): Output {
  switch (run.status) {
    case "COMPLETED":
      return run.output as Output;
    case "CANCELLED": {
      const why = isRecord(run.error) && typeof run.error.message === "string" ? `: ${run.error.message}` : ".";
      throw new HoldfastError("RUN_CANCELLED", `Run ${run.id} of "${run.functionId}" was cancelled${why}`);
    }
    default:
      throw failureOf(run);
  }
}

/** As the error that the function has thrown. */
function failureOf({ id, functionId, error }: Run): Error {
  const revived = isPlainError(error) ? reviveError(error) : new Error(`Run ${id} of "${functionId}" failed.`);
  for (const [name, value] of Object.entries({ runId: id, functionId })) {
    if (!(name in revived)) Object.defineProperty(revived, name, { value, configurable: true });
  }
  return revived;
}
