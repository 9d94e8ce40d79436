/** The adversaries of the simulation, and how those of a schedule are drawn (docs/decisions/0045). */
import type { Dice } from "./random.ts";

/**
 * What may be against a schedule besides its faults, and in what share of schedules it is. `--with` has one in each:
 * to work on what it shows.
 */
export const ADVERSARIES = {
  /** Any party stalls for any time; see `suspensions.ts`. */
  suspensions: 0.25,
  /** What a gateway knows of others is of any age: notifications come late or never, and events come to it all the same. */
  staleCaches: 0.2,
  /** Gateways are as strict as the reference's: no extensions, WORKER_PAUSE is final, work is given on when its lease has ended. */
  plainPeer: 0.15,
  /** A worker of another app acts on requests that are not its, and opens sessions with tokens that were used; see `impostor.ts`. */
  impostors: 0.2,
  /** The same app, events, signals and keys in a second environment, at the same time. */
  environments: 0.06,
  /** The network swallows or holds back what goes over a connection and tells at most the gateway; see `silent-network.ts`. */
  silentNetwork: 0.15,
  /** Something goes wrong just when a handler has been given a result that is not stored; see `look-ahead-moments.ts`. */
  lookAheadMoments: 0.2,
  /** Functions are in queues that only some workers serve, and some have a part of the capacity; see `queues.ts`. */
  queues: 0.15,
  /** Some functions are isolated, and the pool's threads die or are ended at any moment; see `pool.ts`. */
  poolThreads: 0.25,
  /** Bodies of some steps run in a pool's threads, which die, or hang in native code, at any moment; see `body-pool.ts`. */
  poolBodies: 0.2,
  /** Functions are paused and resumed at any moment, at any gateway; see `pauses.ts`. */
  pauses: 0.15,
  /** Functions wait for an event that comes at any moment since their run was made, also before the wait begins. */
  earlyEvents: 0.2,
  /** Functions go on as new runs of themselves, some times, before they end. */
  chains: 0.2,
  /** What has ended is removed at any moment after it; see `pruning.ts`. */
  pruning: 0.2,
  /** Runs are run again, forked, resumed, deleted, also many at once; workers are drained, versions rolled out; see `operators.ts`. */
  operators: 0.2,
  /** Streams of what happens to runs are read at any gateway, and gone on with at another one; see `watchers.ts`. */
  watchers: 0.15,
  /** Runs are asked for from outside, and waited for, over deaths of gateways; see `callers.ts`. */
  callers: 0.15,
  /** What the database has done a gateway hears much later, while its workers are there; see `late-answers.ts`. */
  lateAnswers: 0.15,
  /** Work is taken away just when a body of it was given to a pool whose threads hang; see `body-moments.ts`. */
  bodyMoments: 0.15,
  /** A worker does not read, so that requests wait at its gateway for room; see `full-sockets.ts`. */
  fullSockets: 0.1,
  /** A worker cannot begin with a request, and what its gateway hears of the lease is old; see `late-moments.ts`. */
  lateMoments: 0.1,
  /** Functions race sleeps and waits against bodies, and go on from who was first. */
  races: 0.2,
} as const;

/** They came later, and are drawn after the others: what was drawn before them stays as it was. */
const LATER: ReadonlySet<string> = new Set<Adversary>(["impostors", "environments"]);

export type Adversary = keyof typeof ADVERSARIES;

export const isAdversary = (name: string): name is Adversary => name in ADVERSARIES;

/** Which adversaries are against a schedule besides those that its seed draws, or instead of them. */
export type Against =
  | { readonly type: "drawn"; readonly and: ReadonlySet<Adversary> }
  /** A seed that once failed stays what it was when there are more adversaries. */
  | { readonly type: "only"; readonly these: ReadonlySet<Adversary> };

export const AS_DRAWN: Against = { type: "drawn", and: new Set() };

/** Drawn from streams of their own, those of `own` each from another: schedules without any are as if there were none. */
export function pickAdversaries(
  dice: Dice,
  later: Dice,
  own: { readonly [Name in Adversary]?: Dice },
  against: Against,
): ReadonlySet<Adversary> {
  const names = Object.keys(ADVERSARIES).filter(isAdversary);
  const diceOf = (name: Adversary): Dice => own[name] ?? (LATER.has(name) ? later : dice);
  // Drawn in any case: what is drawn after it stays as it is.
  const drawn = names.filter((name) => diceOf(name).chance(ADVERSARIES[name]));
  return against.type === "only" ? against.these : new Set([...drawn, ...against.and]);
}
