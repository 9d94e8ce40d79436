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
  /** Functions are paused and resumed at any moment, at any gateway; see `pauses.ts`. */
  pauses: 0.15,
  /** Functions wait for an event that comes at any moment since their run was made, also before the wait begins. */
  earlyEvents: 0.2,
  /** Functions go on as new runs of themselves, some times, before they end. */
  chains: 0.2,
  /** What has ended is removed at any moment after it; see `pruning.ts`. */
  pruning: 0.2,
} as const;

/** They came later, and are drawn after the others: what was drawn before them stays as it was. */
const LATER: ReadonlySet<string> = new Set<Adversary>(["impostors", "environments"]);

export type Adversary = keyof typeof ADVERSARIES;

export const isAdversary = (name: string): name is Adversary => name in ADVERSARIES;

/** Drawn from streams of their own, those of `own` each from another: schedules without any are as if there were none. */
export function pickAdversaries(
  dice: Dice,
  later: Dice,
  own: { readonly [Name in Adversary]?: Dice },
  always: ReadonlySet<Adversary>,
): ReadonlySet<Adversary> {
  const names = Object.keys(ADVERSARIES).filter(isAdversary);
  const diceOf = (name: Adversary): Dice => own[name] ?? (LATER.has(name) ? later : dice);
  return new Set(names.filter((name) => diceOf(name).chance(ADVERSARIES[name]) || always.has(name)));
}
