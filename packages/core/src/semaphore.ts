import { type Deferred, deferred } from "./promises.ts";

/** Lets at most so many tasks go on at once; the others wait, in the order in which they came. */
export class Semaphore {
  readonly #waiting: Deferred<void>[] = [];
  #free: number;

  constructor(most: number) {
    this.#free = most;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else {
      const turn = deferred<void>();
      this.#waiting.push(turn);
      await turn.promise;
    }
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) next.resolve();
      else this.#free += 1;
    }
  }
}
