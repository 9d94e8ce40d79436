/** The finished steps that a request carries (the memo), and in which order their promises settle on replay. */
import type { PlainError } from "@holdfast/core";
import { isRecord, normalizeError } from "@holdfast/protocol";

/** What is known about a step from earlier passes. */
export type MemoHit =
  | { readonly type: "data"; readonly data: unknown }
  | { readonly type: "error"; readonly error: PlainError }
  /** Not finished; to be run with these arguments. */
  | { readonly type: "input"; readonly input: readonly unknown[] };

/**
 * The finished steps of a run, and the order in which they finished: promises must settle in that order, or a race
 * would have another winner on replay. A finished step that the code asks for early is held until all that finished
 * before it have been asked for, or `releaseEarliest` is called because nothing else moves.
 *
 * Looking up and settling n steps costs O(n).
 */
export class Journal {
  readonly #steps: Readonly<Record<string, unknown>>;
  readonly #order: readonly string[];
  /** These two are null where nothing is finished, as in most passes. */
  readonly #position: ReadonlyMap<string, number> | null;
  readonly #held: Set<string> | null;
  #next = 0;

  constructor(steps: Readonly<Record<string, unknown>>, stack: readonly string[]) {
    this.#steps = steps;
    const order = stack.length > 0 ? stack : Object.keys(steps);
    this.#order = order.filter((hash) => this.#isFinished(hash));
    const isEmpty = this.#order.length === 0;
    this.#position = isEmpty ? null : new Map(this.#order.map((hash, index) => [hash, index]));
    this.#held = isEmpty ? null : new Set();
  }

  /** All of them have been asked for, or are not waited for. */
  get isReplayed(): boolean {
    return this.#next >= this.#order.length;
  }

  get heldCount(): number {
    return this.#held?.size ?? 0;
  }

  /** In the order in which they finished. */
  get finished(): readonly string[] {
    return this.#order;
  }

  lookup(hash: string): MemoHit | undefined {
    return Object.hasOwn(this.#steps, hash) ? readMemo(this.#steps[hash]) : undefined;
  }

  /** As how-many-th the step finished; undefined when it has not. */
  positionOf(hash: string): number | undefined {
    return this.#position?.get(hash);
  }

  /** The code asks for a finished step; returns the steps that may settle now, in order. */
  ask(hash: string): readonly string[] {
    const position = this.positionOf(hash);
    if (position === undefined || position < this.#next) return [hash];
    this.#held?.add(hash);
    return this.#advance();
  }

  /** Stops waiting for steps that the code no longer reaches. */
  releaseEarliest(): readonly string[] {
    let earliest = Number.POSITIVE_INFINITY;
    for (const hash of this.#held ?? []) earliest = Math.min(earliest, this.positionOf(hash) ?? earliest);
    if (earliest === Number.POSITIVE_INFINITY) return [];
    this.#next = earliest;
    return this.#advance();
  }

  #advance(): string[] {
    const ready: string[] = [];
    for (let hash = this.#order[this.#next]; hash !== undefined; hash = this.#order[this.#next]) {
      if (!this.#held?.delete(hash)) break;
      ready.push(hash);
      this.#next += 1;
    }
    return ready;
  }

  #isFinished(hash: string): boolean {
    const hit = this.lookup(hash);
    return hit !== undefined && hit.type !== "input";
  }
}

/** Only entries that hold nothing beside the key (and `type`) are explicit forms; anything else is the data itself. */
export function readMemo(entry: unknown): MemoHit {
  if (isRecord(entry)) {
    if (isForm(entry, "data")) return { type: "data", data: entry.data };
    if (isForm(entry, "error")) return { type: "error", error: normalizeError(entry.error) };
    if (isForm(entry, "input") && Array.isArray(entry.input)) return { type: "input", input: entry.input };
  }
  return { type: "data", data: entry };
}

function isForm(entry: Readonly<Record<string, unknown>>, form: "data" | "error" | "input"): boolean {
  let count = 0;
  for (const key in entry) {
    if (key !== form && key !== "type") return false;
    count += 1;
  }
  if (!Object.hasOwn(entry, form)) return false;
  return count === 1 || entry.type === form;
}
