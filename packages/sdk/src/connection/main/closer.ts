/**
 * Main's half of `close()`: the deadline, the second signal, and the end of the thread, whatever state it is in. The
 * thread's half is `thread/closing.ts`; docs/decisions/0014 has the budget of the last second.
 */
import { type Clock, HoldfastError, type Log, type TimerHandle, type Timers } from "@holdfast/core";
import type { MainMessage } from "../shared/messages.ts";
import type { Ledger } from "./ledger.ts";
import type { RequestRunner } from "./request-runner.ts";
import type { ThreadHost } from "./thread-host.ts";

/** What the thread gets on top of the drain for its last call, closing its sockets and ending: `close()` is over within a second of it. */
const GRACE_MS = 900;
/** One that does not end even when it is terminated is not waited for. */
const END_MS = 50;
/** Threads of the pool that do not end, either, get what is left of the second. */
const POOL_MS = 30;

export interface CloserDeps {
  readonly host: ThreadHost;
  readonly ledger: Ledger;
  readonly runner: RequestRunner;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** Ends the threads of the pool. Their turns are over by then: nothing could report what they come to. */
  readonly closePool: () => Promise<void>;
  /** Default: `GRACE_MS`. */
  readonly graceMs?: number | undefined;
}

/**
 * Main's half of `close()`.
 *
 * CLOSE-1. It ends: at the latest `GRACE_MS` after the deadline the thread is terminated.
 * CLOSE-2. It never waits for a thread that is gone. One that dies meanwhile is replaced at once if the ledger still holds
 *     something to deliver, and only then.
 * CLOSE-3. A thread that hangs is treated as one that died: at once when nothing is in flight, else in time for another
 *     one.
 * CLOSE-4. It also waits, until the deadline, for handlers whose result is no longer needed.
 * CLOSE-5. It waits for the threads of the pool, but within its bound: one that native code holds is left behind.
 */
export interface Closer {
  readonly begun: boolean;
  /** How long work had, as of the beginning, and how much is left of it; null = not closing. */
  closing(): { readonly drainMs: number; readonly inFlight: number } | null;
  begin(drainMs: number): Promise<void>;
  /** The deadline is now. */
  force(): void;
  onThreadClosed(): void;
  onThreadGone(): void;
  /** A handler ended. */
  recheck(): void;
  greeting(): readonly MainMessage[];
  /** Why work is taken away at the moment. */
  lossReason(): HoldfastError;
}

export function createCloser(deps: CloserDeps): Closer {
  const { host, ledger, runner, clock, timers, log, graceMs = GRACE_MS } = deps;
  let deadlineMs: number | null = null;
  let givenMs = 0;
  let threadDone = false;
  let drainOver = false;
  let drainAlarm: TimerHandle | undefined;
  let hardAlarm: TimerHandle | undefined;
  let resolve: (() => void) | undefined;
  const pool = createPoolEnd(deps, () => resolve?.());

  const leftMs = (): number => Math.max(0, (deadlineMs ?? 0) - clock.monotonicMs());

  const finishThread = (): void => {
    if (threadDone) return;
    threadDone = true;
    void host.stop().then(() => {
      hardAlarm?.cancel();
      if (ledger.size > 0) logUnfinished(log, ledger);
      ledger.loseAll(lossReason());
      threadEnded = true;
      resolveIfDone();
    });
  };
  let threadEnded = false;

  const resolveIfDone = (): void => {
    if (!threadEnded || (runner.running > 0 && !drainOver)) return;
    drainAlarm?.cancel();
    pool.close();
  };

  const onDrainOver = (): void => {
    drainOver = true;
    resolveIfDone();
  };

  const setDeadline = (drainMs: number): void => {
    deadlineMs = clock.monotonicMs() + drainMs;
    givenMs = drainMs;
    drainAlarm?.cancel();
    hardAlarm?.cancel();
    pool.bound(drainMs);
    drainAlarm = timers.set(drainMs, onDrainOver);
    hardAlarm = timers.set(drainMs + graceMs, () => {
      log("error", "The connection thread did not exit in time and was terminated.", { code: "DRAIN_TIMEOUT" });
      finishThread();
      host.terminate(END_MS);
    });
  };

  const onThreadGone = (): void => {
    if (threadDone) return;
    if (ledger.size > 0 && leftMs() > 0) host.respawnNow();
    else finishThread();
  };

  const lossReason = (): HoldfastError =>
    deadlineMs === null
      ? new HoldfastError("LEASE_LOST", "The gateway reassigned this request; its result will not be used.")
      : new HoldfastError("DRAIN_TIMEOUT", "The worker shuts down; another one can continue this work.");

  return {
    get begun() {
      return deadlineMs !== null;
    },
    closing: () => (deadlineMs === null ? null : { drainMs: givenMs, inFlight: ledger.size }),
    begin: (drainMs) =>
      new Promise((done) => {
        resolve = done;
        setDeadline(drainMs);
        if (host.alive) host.send({ type: "CLOSE", drainMs });
        else onThreadGone();
      }),
    force: () => {
      if (deadlineMs === null) return;
      pool.bound(0);
      // A thread that heard both signals before main did may be gone by now: only handlers are waited for.
      if (threadEnded) return onDrainOver();
      setDeadline(0);
      host.send({ type: "CLOSE", drainMs: 0 });
    },
    onThreadClosed: finishThread,
    onThreadGone,
    recheck: resolveIfDone,
    greeting: () => (deadlineMs === null ? [] : [{ type: "CLOSE", drainMs: leftMs() }]),
    lossReason,
  };
}

interface PoolEnd {
  /** How long work has from now on: what follows is late some time after that. */
  bound(drainMs: number): void;
  /** Ends the threads, once. */
  close(): void;
}

/** `onEnd`: they have ended, or are not waited for any more. */
function createPoolEnd({ timers, closePool, graceMs = GRACE_MS }: CloserDeps, onEnd: () => void): PoolEnd {
  let alarm: TimerHandle | undefined;
  let isClosing = false;
  let isLate = false;
  const end = (): void => {
    alarm?.cancel();
    onEnd();
  };
  return {
    bound: (drainMs) => {
      alarm?.cancel();
      alarm = timers.set(drainMs + graceMs + END_MS + POOL_MS, () => {
        isLate = true;
        if (isClosing) end();
      });
    },
    close: () => {
      if (isClosing) return;
      isClosing = true;
      const closed = closePool();
      if (isLate) end();
      else void closed.then(end, end);
    },
  };
}

function logUnfinished(log: Log, ledger: Ledger): void {
  log("error", `The connection ended with ${ledger.size} requests in flight; their leases will expire.`, {
    code: "DRAIN_TIMEOUT",
    requestIds: ledger.requestIds().slice(0, 20),
  });
}
