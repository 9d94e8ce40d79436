/** Owns who comes first where the workers of several functions have less room than there is work (docs/decisions/0171). */

interface OfFunction {
  readonly functionId: string;
}

/** Who was given work how long ago, counted in looks into the queue. */
export class LastServed {
  readonly #lookOf = new Map<string, number>();
  #looks = 0;

  /** What one look brought. */
  record(jobs: Iterable<OfFunction>): void {
    this.#looks += 1;
    for (const { functionId } of jobs) this.#lookOf.set(functionId, this.#looks);
  }

  /** Those that were served longest ago first. */
  inOrder<Want extends OfFunction>(wants: readonly Want[]): Want[] {
    return [...wants].sort((a, b) => this.#lastOf(a) - this.#lastOf(b));
  }

  /** Whether `these` come before `others`: none of them was served since one of the others was. */
  comeFirst(these: readonly OfFunction[], others: readonly OfFunction[]): boolean {
    return this.#lastOfAny(these) <= this.#lastOfAny(others);
  }

  #lastOfAny(wants: readonly OfFunction[]): number {
    return wants.reduce((last, want) => Math.max(last, this.#lastOf(want)), 0);
  }

  #lastOf({ functionId }: OfFunction): number {
    return this.#lookOf.get(functionId) ?? 0;
  }
}
