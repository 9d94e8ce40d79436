/**
 * Claims jobs for what the workers here have room for, within the limits of their functions (docs/decisions/0024), and
 * notices when the registry has moved since it was read (docs/decisions/0039).
 */
import { type ClockReading, messageOf, readClocks } from "@holdfast/core";
import {
  type ClaimedJob,
  type ClaimLimits,
  type ClaimRequest,
  isOutdated,
  type LimitedClaim,
  levelFor,
} from "@holdfast/store";
import type { Admission } from "../admission/admission.ts";
import type { DatabaseTime } from "../database-time.ts";
import type { DispatcherCounters, DispatcherOptions } from "../ports.ts";
import type { Functions } from "../registry/functions.ts";
import type { RunCache } from "../run-cache.ts";
import type { FunctionRoom, SharedRoom } from "../workers/room.ts";
import type { Workers } from "../workers/workers.ts";
import { LastServed } from "./last-served.ts";

export interface ClaimsParts {
  readonly time: DatabaseTime;
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

/** What the claims of one round brought. */
interface Found extends Omit<LimitedClaim, "jobs"> {
  readonly jobs: readonly LeasedClaim[];
  /** The functions have changed. */
  readonly outdated: boolean;
  readonly errors: readonly unknown[];
  /** Functions that a claim asked for which failed. */
  readonly unread: readonly string[];
}

/** With when its lease was asked for: `workers/lease-age.ts`. */
export interface LeasedClaim extends ClaimedJob {
  readonly leasedAt: ClockReading;
}

/** A function that the workers here had room for. */
export interface Asked {
  readonly functionId: string;
  readonly limit: number;
  /** Its workers' room is taken, or it could not be read: more of it may be due. */
  readonly mayHaveMore: boolean;
}

/** What one look into the queue brought. */
export interface Claimed {
  readonly jobs: readonly LeasedClaim[];
  readonly wants: readonly Asked[];
  /** Functions of which due jobs had to be left, for their limits. */
  readonly blocked: readonly string[];
  /** When a throttle lets the next run start. */
  readonly retryInMs: number | null;
  /** The functions have changed and were read again, or it was carried out too late: look again. */
  readonly outdated: boolean;
}

/** Timers need no worker: a lease of them only has to outlive one decision. */
export const TIMER_LEASE_MS = 10_000;
/** A claim that is carried out later takes nothing: while the database stood still no lease could be extended. */
const MAX_LATE_MS = 5_000;

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
  readonly #served = new LastServed();

  constructor(options: DispatcherOptions, parts: ClaimsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** At most `most` of each function, and `others`, which need no worker. */
  async claimJobs(most: number, others: readonly Want[]): Promise<Claimed> {
    const { clock } = this.#options;
    const { workers, admission, functions, counters, time } = this.#parts;
    const rooms = workers
      .roomByFunction(clock.monotonicMs(), most)
      .filter(({ functionId }) => admission.mayStart({ at: "CLAIM", functionId }).may);
    const limited = rooms.flatMap((room): LimitedRoom[] => {
      const limits = functions.get(room.functionId)?.limits;
      return limits ? [{ ...room, limits }] : [];
    });
    const free = limited.length === 0 ? rooms : rooms.filter((room) => !functions.get(room.functionId)?.limits);
    const [now, then] = inRounds(free, limited, this.#served);
    counters.claims += 1;
    const { version } = functions;
    const left = new Map([...new Set(rooms.map(({ shared }) => shared))].map((shared) => [shared, shared.room]));
    const found = [await this.#claimRound(now, others, left, version)];
    const hasRoom = ({ shared }: FunctionRoom): boolean => (left.get(shared) ?? 0) > 0;
    const rest = { free: then.free.filter(hasRoom), limited: then.limited.filter(hasRoom) };
    const hasMoved = (): boolean => found.some(({ outdated }) => outdated);
    if (rest.free.length + rest.limited.length > 0 && !hasMoved())
      found.push(await this.#claimRound(rest, [], left, version));
    const jobs = found.flatMap((one) => one.jobs);
    this.#served.record(jobs);
    this.#checkErrors(found, jobs.length);
    if (hasMoved()) {
      counters.registryMoved += 1;
      await Promise.all([functions.renew(version), time.ask(this.#options.store)]);
      return { jobs, wants: [], blocked: [], retryInMs: null, outdated: true };
    }
    const unread = new Set(found.flatMap((one) => one.unread));
    return {
      jobs,
      wants: rooms.map((room) => ({ ...room, mayHaveMore: !hasRoom(room) || unread.has(room.functionId) })),
      blocked: found.flatMap(({ blocked }) => blocked),
      retryInMs: found.reduce<number | null>((first, { retryInMs }) => earlier(first, retryInMs), null),
      outdated: false,
    };
  }

  /** What one claim has taken is not to be lost because another one failed. */
  #checkErrors(found: readonly Found[], jobs: number): void {
    for (const error of found.flatMap(({ errors }) => errors)) {
      if (jobs === 0) throw error;
      this.#options.log(levelFor(error, "warn"), `A part of the queue could not be read: ${messageOf(error)}`);
    }
  }

  /** Takes what it claims off the room that is left. */
  async #claimRound(
    { free, limited }: Round,
    others: readonly Want[],
    left: Map<SharedRoom, number>,
    registryVersion: number,
  ): Promise<Found> {
    const { store, clock, settings } = this.#options;
    const shares = [...left.keys()];
    const indexed = <Room extends FunctionRoom>({
      shared,
      ...room
    }: Room): Omit<Room, "shared"> & { room: number } => ({
      ...room,
      room: shares.indexOf(shared),
    });
    const notAfterMs = this.#parts.time.nowMs() + MAX_LATE_MS;
    const base = { gatewayId: settings.gatewayId, registryVersion, notAfterMs, rooms: [...left.values()] };
    const wants = [...free.map(indexed), ...others];
    const leasedAt = readClocks(clock);
    const [claimed, within] = await Promise.all([
      settled(
        wants.length === 0
          ? []
          : store.claim({ ...base, leaseMs: TIMER_LEASE_MS, wants, hasRunOf: this.#parts.runs.waitsForTimer }),
      ),
      settled(
        limited.length === 0
          ? NOTHING
          : store.claimLimited({ ...base, wants: this.#served.inOrder(limited).map(indexed) }),
      ),
    ]);
    const jobs = [...(claimed.value ?? []), ...(within.value?.jobs ?? [])].map((job) => ({ leasedAt, ...job }));
    const sharedOf = new Map([...free, ...limited].map(({ functionId, shared }) => [functionId, shared]));
    for (const { functionId } of jobs) {
      const shared = sharedOf.get(functionId);
      if (shared) left.set(shared, (left.get(shared) ?? 0) - 1);
    }
    const errors = [claimed, within].flatMap(({ error }) => (error === undefined ? [] : [error]));
    const unread = [...(claimed.value ? [] : free), ...(within.value ? [] : limited)];
    return {
      ...(within.value ?? NOTHING),
      jobs,
      errors: errors.filter((error) => !isOutdated(error)),
      outdated: errors.some(isOutdated),
      unread: unread.map(({ functionId }) => functionId),
    };
  }
}

/**
 * What is asked for at once, and what is asked for in the room that it leaves. The two kinds of claims do not know of
 * each other: where both could take more than there is room for, one goes first.
 */
function inRounds(free: readonly FunctionRoom[], limited: readonly LimitedRoom[], served: LastServed): [Round, Round] {
  if (free.length === 0 || limited.length === 0) return [{ free, limited }, EMPTY];
  const later = new Set<FunctionRoom>();
  for (const shared of new Set(limited.map((room) => room.shared))) {
    const [own, others] = [free, limited].map((rooms) => rooms.filter((room) => room.shared === shared)) as [
      FunctionRoom[],
      FunctionRoom[],
    ];
    if (mostOf(own, shared) + mostOf(others, shared) <= shared.room) continue;
    for (const room of served.comeFirst(others, own) ? own : others) later.add(room);
  }
  const part = (isLater: boolean): Round => ({
    free: free.filter((room) => later.has(room) === isLater),
    limited: limited.filter((room) => later.has(room) === isLater),
  });
  return [part(false), part(true)];
}

const mostOf = (rooms: readonly FunctionRoom[], { room }: SharedRoom): number =>
  Math.min(
    room,
    rooms.reduce((sum, { limit }) => sum + limit, 0),
  );

const EMPTY: Round = { free: [], limited: [] };

const NOTHING = { jobs: [], blocked: [], retryInMs: null } as const;

const earlier = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

type Settled<T> =
  | { readonly value: T; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: unknown };

const settled = <T>(claim: T | Promise<T>): Promise<Settled<T>> =>
  Promise.resolve(claim).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
