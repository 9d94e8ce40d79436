/**
 * Puts the jobs that wait into the lanes that the newest registry gives their functions (docs/decisions/0173), beside
 * all other work: of a long queue that takes a while.
 */
import { type Clock, type Log, messageOf, sleep, type Timers } from "@holdfast/core";
import { type LaneAdoption, levelFor, type Store } from "@holdfast/store";

/** A transaction that read the registry before it changed may still add jobs: soon it is looked for them again. */
const FIRST_REST_MS = 2_000;
/** Each look reads all jobs of functions with limits, so later ones are rare. */
const MAX_REST_MS = 60_000;
/** Before what others have locked is tried again, and how often. */
const LOCKED_REST_MS = 50;
const MAX_LOCKED_TRIES = 20;

/** Jobs of functions whose limits were new may be claimed. */
export interface AfterAdoption {
  readonly do: "LANES_ADOPTED";
}

export interface LaneAdoptionsParts {
  readonly store: Pick<Store, "adoptLanes">;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Timers;
  readonly log: Log;
  readonly emit: (effect: AfterAdoption) => void;
}

/** A look for jobs in other lanes; a newer one puts an end to it. */
interface Look {
  readonly version: number;
  /** What it has not found to be done yet. */
  left: readonly LaneAdoption[];
  /** It is repeated after this long, and the one after it after twice as long. */
  readonly restMs: number;
}

export class LaneAdoptions {
  readonly #parts: LaneAdoptionsParts;
  /** What is under way, or was last; null: nothing was, or it failed and is to be done again. */
  #look: Look | null = null;
  #nextAtMs = 0;
  /** The lanes of the functions whose jobs were all in them when they were last looked at. */
  readonly #lanes = new Map<string, string>();
  #pending: ReadonlySet<string> = new Set();
  #goingOn: Promise<void> | null = null;
  #stopped = false;

  constructor(parts: LaneAdoptionsParts) {
    this.#parts = parts;
  }

  /** Jobs of the function are in lanes of other limits than it has now: none of them is to be given to a worker. */
  isUnderWay(functionId: string): boolean {
    return this.#pending.has(functionId);
  }

  /** The registry was read. Nothing waits for what follows from it, but the functions whose lanes are others now. */
  review(adoptions: readonly LaneAdoption[], version: number): void {
    const before = this.#look;
    const isRepeated = version === before?.version;
    if (this.#stopped || (isRepeated && (this.#goingOn || this.#parts.clock.monotonicMs() < this.#nextAtMs))) return;
    const restMs = isRepeated ? Math.min(before.restMs * 2, MAX_REST_MS) : FIRST_REST_MS;
    const look = { version, left: adoptions, restMs };
    this.#look = look;
    if (!isRepeated) this.#onRegistry(adoptions);
    if (adoptions.length === 0) return;
    const goingOn = this.#goOn(look).finally(() => {
      if (this.#goingOn === goingOn) this.#goingOn = null;
    });
    this.#goingOn = goingOn;
  }

  /** What is under way ends soon; nothing else begins. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#goingOn;
  }

  /** A function that had no limits for a while has jobs in no lane, though its lane is the same again. */
  #onRegistry(adoptions: readonly LaneAdoption[]): void {
    const lanes = new Map(adoptions.map(({ functionId, lane }) => [functionId, JSON.stringify(lane)]));
    for (const functionId of this.#lanes.keys()) if (!lanes.has(functionId)) this.#lanes.delete(functionId);
    this.#pending = new Set([...lanes].flatMap(([id, lane]) => (this.#lanes.get(id) === lane ? [] : [id])));
  }

  async #goOn(look: Look): Promise<void> {
    for (let tries = 0; tries < MAX_LOCKED_TRIES; ) {
      const moved = await this.#adopt(look);
      if (this.#look !== look || look.left.length === 0) return;
      if (moved > 0) tries = 0;
      else {
        tries += 1;
        await sleep(this.#parts.timers, LOCKED_REST_MS);
      }
      if (this.#stopped || this.#look !== look) return;
    }
    // Who has the last ones locked does not keep all others of their functions waiting.
    this.#pending = new Set();
    this.#parts.emit({ do: "LANES_ADOPTED" });
  }

  /** Returns how many jobs are in their lanes now that were not before. */
  async #adopt(look: Look): Promise<number> {
    const { store, log, clock, emit } = this.#parts;
    try {
      const { moved, left } = await store.adoptLanes(look.left, look.version);
      if (this.#look !== look) return 0;
      const ids = new Set(left);
      for (const { functionId, lane } of look.left)
        if (!ids.has(functionId)) this.#lanes.set(functionId, JSON.stringify(lane));
      const mayStart = [...this.#pending].some((id) => !ids.has(id));
      look.left = look.left.filter(({ functionId }) => ids.has(functionId));
      this.#pending = ids;
      this.#nextAtMs = clock.monotonicMs() + look.restMs;
      if (mayStart) emit({ do: "LANES_ADOPTED" });
      return moved;
    } catch (error) {
      log(levelFor(error, "warn"), `Jobs could not be given the new limits of their functions: ${messageOf(error)}`);
      if (this.#look === look) this.#look = null;
      return 0;
    }
  }
}
