/**
 * Claims jobs for what the workers here have room for, within the limits of their functions (docs/decisions/0024), and
 * notices when the registry has moved since it was read (docs/decisions/0039).
 */

import type { ClockReading } from "@holdfast/core";
import { readClocks } from "@holdfast/core";
import { type ClaimedJob, type ClaimLimits, type ClaimRequest, isOutdated, type LimitedClaim } from "@holdfast/store";
import type { Admission } from "../admission/admission.ts";
import type { DispatcherCounters, DispatcherOptions } from "../ports.ts";
import type { Functions } from "../registry/functions.ts";
import type { RunCache } from "../run-cache.ts";
import type { FunctionRoom, Pool } from "../workers/room.ts";
import type { Workers } from "../workers/workers.ts";
import { Turns } from "./turns.ts";

export interface ClaimsParts {
  readonly runs: RunCache;
  readonly workers: Workers;
  readonly admission: Admission;
  readonly functions: Functions;
  readonly counters: DispatcherCounters;
}

type Want = ClaimRequest["wants"][number];

type LimitedRoom = FunctionRoom & { readonly limits: ClaimLimits };

/** What is asked for at the same time: of functions without limits, and of those with some. */
interface Round {
  readonly free: readonly FunctionRoom[];
  readonly limited: readonly LimitedRoom[];
}

/** With when its lease was asked for: `workers/lease-age.ts`. */
export interface LeasedClaim extends ClaimedJob {
  readonly leasedAt: ClockReading;
}

/** A function that the workers here had room for. */
export interface Asked {
  readonly functionId: string;
  readonly limit: number;
  /** The jobs that were claimed take all the room that its workers had: more of it may be due. */
  readonly isRoomTaken: boolean;
}

/** What one look into the queue brought. */
export interface Claimed {
  readonly jobs: readonly LeasedClaim[];
  readonly wants: readonly Asked[];
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
 *
 * Functions without limits share one line: what has waited longest goes first. Each function with limits has a line of
 * its own. Where there is less room than they all could take, they take turns (docs/decisions/0171).
 */
export class Claims {
  readonly #options: DispatcherOptions;
  readonly #parts: ClaimsParts;
  readonly #turns = new Turns();

  constructor(options: DispatcherOptions, parts: ClaimsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** At most `most` of each function, and `others`, which need no worker. */
  async claimJobs(most: number, others: readonly Want[]): Promise<Claimed> {
    const { clock } = this.#options;
    const { workers, admission, functions, counters } = this.#parts;
    const rooms = workers
      .roomByFunction(clock.monotonicMs(), most)
      .filter(({ functionId }) => admission.mayStart({ at: "CLAIM", functionId }).may);
    const limited = rooms.flatMap((room): LimitedRoom[] => {
      const limits = functions.get(room.functionId)?.limits;
      return limits ? [{ ...room, limits }] : [];
    });
    const free = limited.length === 0 ? rooms : rooms.filter((room) => !functions.get(room.functionId)?.limits);
    const [now, then] = inRounds(free, limited, this.#turns);
    counters.claims += 1;
    const { version } = functions;
    const left = new Map([...new Set(rooms.map(({ pool }) => pool))].map((pool) => [pool, pool.room]));
    const found = [await this.#claimRound(now, others, left, version)];
    const hasRoom = ({ pool }: FunctionRoom): boolean => (left.get(pool) ?? 0) > 0;
    const rest = { free: then.free.filter(hasRoom), limited: then.limited.filter(hasRoom) };
    if (rest.free.length + rest.limited.length > 0 && !found[0]?.outdated)
      found.push(await this.#claimRound(rest, [], left, version));
    const jobs = found.flatMap((one) => one.jobs);
    this.#turns.recordServed(jobs);
    if (found.some(({ outdated }) => outdated)) {
      counters.registryMoved += 1;
      await functions.renew(version);
      return { jobs, wants: [], blocked: [], retryInMs: null, outdated: true };
    }
    return {
      jobs,
      wants: rooms.map((room) => ({ ...room, isRoomTaken: !hasRoom(room) })),
      blocked: found.flatMap(({ blocked }) => blocked),
      retryInMs: found.reduce<number | null>((first, { retryInMs }) => earlier(first, retryInMs), null),
      outdated: false,
    };
  }

  /** Takes what it claims off the room that is left of each pool. */
  async #claimRound(
    { free, limited }: Round,
    others: readonly Want[],
    left: Map<Pool, number>,
    registryVersion: number,
  ): Promise<Omit<LimitedClaim, "jobs"> & { readonly jobs: readonly LeasedClaim[]; readonly outdated: boolean }> {
    const { store, clock, settings } = this.#options;
    const pools = [...left.keys()];
    const inPool = <Room extends FunctionRoom>(room: Room): Omit<Room, "pool"> & { readonly pool: number } => ({
      ...room,
      pool: pools.indexOf(room.pool),
    });
    const base = { gatewayId: settings.gatewayId, registryVersion, pools: [...left.values()] };
    const wants = [...free.map(inPool), ...others];
    const leasedAt = readClocks(clock);
    const [claimed, within] = await Promise.all([
      wants.length === 0
        ? []
        : unlessOutdated(
            store.claim({ ...base, leaseMs: TIMER_LEASE_MS, wants, hasRunOf: this.#parts.runs.waitsForTimer }),
          ),
      limited.length === 0
        ? NOTHING
        : unlessOutdated(store.claimLimited({ ...base, wants: this.#turns.inOrder(limited).map(inPool) })),
    ]);
    const jobs = [...(claimed ?? []), ...(within?.jobs ?? [])].map((job) => ({ leasedAt, ...job }));
    const poolOf = new Map([...free, ...limited].map(({ functionId, pool }) => [functionId, pool]));
    for (const { functionId } of jobs) {
      const pool = poolOf.get(functionId);
      if (pool) left.set(pool, (left.get(pool) ?? 0) - 1);
    }
    return { ...(within ?? NOTHING), jobs, outdated: claimed === null || within === null };
  }
}

/**
 * What is asked for at once, and what is asked for in the room that it leaves. The two kinds of claims do not know of
 * each other: where both could take more than there is room for, one goes first.
 */
function inRounds(free: readonly FunctionRoom[], limited: readonly LimitedRoom[], turns: Turns): [Round, Round] {
  if (free.length === 0 || limited.length === 0) return [{ free, limited }, EMPTY];
  const later = new Set<FunctionRoom>();
  for (const pool of new Set(limited.map((room) => room.pool))) {
    const [own, others] = [free, limited].map((rooms) => rooms.filter((room) => room.pool === pool)) as [
      FunctionRoom[],
      FunctionRoom[],
    ];
    if (mostOf(own, pool) + mostOf(others, pool) <= pool.room) continue;
    for (const room of turns.areFirst(others, own) ? own : others) later.add(room);
  }
  const part = (isLater: boolean): Round => ({
    free: free.filter((room) => later.has(room) === isLater),
    limited: limited.filter((room) => later.has(room) === isLater),
  });
  return [part(false), part(true)];
}

const mostOf = (rooms: readonly FunctionRoom[], { room }: Pool): number =>
  Math.min(
    room,
    rooms.reduce((sum, { limit }) => sum + limit, 0),
  );

const EMPTY: Round = { free: [], limited: [] };

const NOTHING = { jobs: [], blocked: [], retryInMs: null } as const;

const earlier = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

/** Null: it was refused. What another claim of the same time has taken is not to be lost with it. */
function unlessOutdated<T>(claim: Promise<T>): Promise<T | null> {
  return claim.catch((error: unknown) => {
    if (isOutdated(error)) return null;
    throw error;
  });
}
