/**
 * How long a thread waited for a processor, from what the kernel counts. The counts lag: a thread that gets no processor
 * at all is counted when it gets one again, so what it waits for now is added here.
 */

/** What was read of a thread at one moment; the times are since it was started. */
export interface CpuReading {
  readonly atMs: number;
  readonly runMs: number;
  /** Null: the kernel does not count it. */
  readonly waitMs: number | null;
  /** It would run if it had a processor; false: it sleeps, or waits for something else. */
  readonly isRunnable: boolean;
}

export interface CpuWait {
  readonly last: CpuReading;
  /** Since the first reading. */
  readonly waitedMs: number;
  /** What of that the kernel has not counted yet. */
  readonly uncountedMs: number;
}

export function firstCpuWait(last: CpuReading): CpuWait {
  return { last, waitedMs: 0, uncountedMs: 0 };
}

/** WAIT-1. What was said to be waited never gets less. WAIT-2. Time in which the thread ran or slept is none of it. */
export function nextCpuWait({ last, waitedMs, uncountedMs }: CpuWait, now: CpuReading): CpuWait {
  const gapMs = Math.max(0, now.atMs - last.atMs);
  const ranMs = Math.max(0, now.runMs - last.runMs);
  const counted = now.waitMs === null || last.waitMs === null ? 0 : Math.max(0, now.waitMs - last.waitMs);
  const stood = ranMs === 0 && counted === 0;
  // Runnable all the while, without a moment on a processor; or nothing but that is known.
  const guessed = now.isRunnable && last.isRunnable && (stood || now.waitMs === null) ? Math.max(0, gapMs - ranMs) : 0;
  if (guessed > 0) return { last: now, waitedMs: waitedMs + guessed, uncountedMs: uncountedMs + guessed };
  // What is counted now has been added before, in part or whole.
  const fresh = Math.max(0, counted - uncountedMs);
  return { last: now, waitedMs: waitedMs + fresh, uncountedMs: stood ? uncountedMs : 0 };
}
