/**
 * Claims jobs for what the workers here have room for, within the limits of their functions (docs/decisions/0024), and
 * notices when the registry has moved since it was read (docs/decisions/0039).
 */
import { type ClockReading, readClocks } from "@holdfast/core";
import { type ClaimedJob, type ClaimRequest, isOutdated } from "@holdfast/store";
import type { Admission } from "../admission/admission.ts";
import type { DispatcherCounters, DispatcherOptions } from "../ports.ts";
import type { Functions } from "../registry/functions.ts";
import type { RunCache } from "../run-cache.ts";
import type { Workers } from "../workers/workers.ts";

export interface ClaimsParts {
  readonly runs: RunCache;
  readonly workers: Workers;
  readonly admission: Admission;
  readonly functions: Functions;
  readonly counters: DispatcherCounters;
}

type Want = ClaimRequest["wants"][number];

/** With when its lease was asked for: `workers/lease-age.ts`. */
export interface LeasedClaim extends ClaimedJob {
  readonly leasedAt: ClockReading;
}

/** What one look into the queue brought. */
export interface Claimed {
  readonly jobs: readonly LeasedClaim[];
  /** Functions that were asked for, with how much of each. */
  readonly wants: readonly Want[];
  /** Functions of which due jobs had to be left, for their limits. */
  readonly blocked: readonly string[];
  /** When a throttle lets the next run start. */
  readonly retryInMs: number | null;
  /** The functions have changed and were read again: look again. */
  readonly outdated: boolean;
}

/** Timers need no worker: a lease of them only has to outlive one decision. */
export const TIMER_LEASE_MS = 10_000;

/**
 * Takes what the workers here have room for out of the queue, within the limits of the functions as they are
 * registered.
 */
export class Claims {
  readonly #options: DispatcherOptions;
  readonly #parts: ClaimsParts;

  constructor(options: DispatcherOptions, parts: ClaimsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** At most `most` of each function, and `others`, which need no worker. */
  async claimJobs(most: number, others: readonly Want[]): Promise<Claimed> {
    const { store, clock, settings } = this.#options;
    const { runs, workers, admission, functions, counters } = this.#parts;
    const wants = workers
      .roomByFunction(clock.monotonicMs(), most)
      .filter(({ functionId }) => admission.mayStart({ at: "CLAIM", functionId }).may);
    const limited = wants.flatMap((want) => {
      const limits = functions.get(want.functionId)?.limits;
      return limits ? [{ ...want, limits }] : [];
    });
    const free = limited.length === 0 ? wants : wants.filter((want) => !functions.get(want.functionId)?.limits);
    counters.claims += 1;
    const { version: registryVersion } = functions;
    const base = { gatewayId: settings.gatewayId, registryVersion };
    const leasedAt = readClocks(clock);
    const [claimed, limitedClaim] = await Promise.all([
      unlessOutdated(
        store.claim({
          ...base,
          leaseMs: TIMER_LEASE_MS,
          wants: [...free, ...others],
          hasRunOf: runs.waitsForTimer,
        }),
      ),
      limited.length > 0 ? unlessOutdated(store.claimLimited({ ...base, wants: limited })) : NOTHING,
    ]);
    const jobs = [...(claimed ?? []), ...(limitedClaim?.jobs ?? [])].map((job) => ({ leasedAt, ...job }));
    if (claimed && limitedClaim)
      return { jobs, wants, blocked: limitedClaim.blocked, retryInMs: limitedClaim.retryInMs, outdated: false };
    counters.registryMoved += 1;
    await functions.renew(registryVersion);
    return { jobs, wants: [], blocked: [], retryInMs: null, outdated: true };
  }
}

const NOTHING = { jobs: [], blocked: [], retryInMs: null } as const;

/** Null: it was refused. What another claim of the same time has taken is not to be lost with it. */
function unlessOutdated<T>(claim: Promise<T>): Promise<T | null> {
  return claim.catch((error: unknown) => {
    if (isOutdated(error)) return null;
    throw error;
  });
}
