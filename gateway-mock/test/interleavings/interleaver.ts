import { seededRandom } from "@holdfast/core";

interface Move {
  readonly what: string;
  readonly go: () => void;
}

/** A turn of the event loop runs everything that follows from a move, but for what the next one of these stands for. */
const QUIET_TURNS = 4;

/**
 * Everything that could happen next, of which a seed chooses one at a time. What is chosen runs until nothing more follows
 * from it; so a schedule is a function of its seed alone.
 */
export class Interleaver {
  readonly random: () => number;
  readonly trace: string[] = [];
  readonly #open: Move[] = [];
  #busy = 0;
  #order = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  /** How many things have happened; grows with each. */
  get now(): number {
    return this.#order;
  }

  get isOver(): boolean {
    return this.#open.length === 0 && this.#busy === 0;
  }

  chance(part: number): boolean {
    return this.random() < part;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)] as T;
  }

  /** Resolves when it is this one's turn. */
  turn(what: string): Promise<void> {
    return new Promise((go) => this.#open.push({ what, go }));
  }

  add(what: string, act: () => void): void {
    void this.turn(what).then(act);
  }

  /** Something outside of this process that is under way: nothing else happens meanwhile. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#busy += 1;
    try {
      return await work();
    } finally {
      this.#busy -= 1;
    }
  }

  note(what: string): number {
    this.#order += 1;
    this.trace.push(`${this.#order} ${what}`);
    return this.#order;
  }

  /** Lets one thing happen: a random one, or the one that has waited longest. */
  async next(how: "random" | "oldest"): Promise<void> {
    const index = how === "oldest" ? 0 : Math.floor(this.random() * this.#open.length);
    const [move] = this.#open.splice(index, 1);
    if (move) {
      this.note(move.what);
      move.go();
    }
    await this.quiet();
  }

  async quiet(): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#busy > 0) turns = -1;
    }
  }
}
