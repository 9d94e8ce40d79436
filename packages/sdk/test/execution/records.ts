import type { RunState } from "@holdfast/engine";

type Entries<T> = Iterable<readonly [string, T]> & { set(key: string, value: T): void };

/** What a run has on record, for tests that put something there or look at it. */
export class Records implements Entries<unknown> {
  readonly #state: RunState;

  constructor(state: RunState) {
    this.#state = state;
  }

  has(key: string): boolean {
    return this.#state.memo.has(key);
  }

  get(key: string): unknown {
    const memo = this.#state.memo.get(key);
    return memo && (JSON.parse(memo.text) as unknown);
  }

  set(key: string, entry: unknown): void {
    const { signature = "", isUndefined = false } = this.#state.memo.get(key) ?? {};
    this.#state.memo.set(key, { text: JSON.stringify(entry), signature, isUndefined });
  }

  *[Symbol.iterator](): Iterator<readonly [string, unknown]> {
    for (const key of this.#state.memo.keys()) yield [key, this.get(key)];
  }

  /** What gateways say of finished steps; what a test has put there without it is as from one that says nothing. */
  get known(): Record<string, string> {
    return Object.fromEntries(this.signatures);
  }

  readonly signatures: Entries<string> & { get(key: string): string | undefined } = {
    get: (key) => this.#state.memo.get(key)?.signature,
    set: (key, signature) => {
      const memo = this.#state.memo.get(key);
      if (memo === undefined) throw new Error(`there is no step ${key} on record`);
      this.#state.memo.set(key, { ...memo, signature });
    },
    [Symbol.iterator]: () => this.#signed(),
  };

  *#signed(): Iterator<readonly [string, string]> {
    for (const [key, { signature }] of this.#state.memo) if (signature !== "") yield [key, signature];
  }

  /** Steps that failed before and are to be tried again. */
  readonly retries = {
    set: (key: string, { attempt, notBeforeMs }: { readonly attempt: number; readonly notBeforeMs: number }): void => {
      this.#state.attempts.set(key, attempt);
      this.#state.open.set(key, {
        phase: "retrying",
        race: false,
        dueMs: notBeforeMs,
        op: "StepError",
        name: null,
        ordinal: null,
        call: null,
        earlier: null,
      });
    },
  };
}
