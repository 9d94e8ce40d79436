/**
 * The determinism check of a pass: tells code that has changed from a race that came out otherwise
 * (docs/decisions/0027).
 */
import { describeSignature, describeStep, parseSignature, type Signature } from "./signature.ts";
import type { StepRecord } from "./step-record.ts";

interface Recorded {
  readonly hash: string;
  readonly signature: Signature;
  readonly ordinal: number;
}

/**
 * The order in which a pass finds steps, compared with the order on record: a changed sequence of steps must be reported,
 * and nothing of it run, but a race that comes out otherwise or code between steps that takes its time is no change.
 *
 * ORDER-1. A step is numbered when its place cannot depend on time: it was found in the same breath as a numbered step
 *     settled, or when no other step was open. Others have no number and are not compared.
 * ORDER-2. A new step is held back while a step with its number or a lower one is on record that has not been asked for. What
 *     is on record was found without the new step's result, so code that has not changed asks for it sooner or later.
 * ORDER-3. No step is held for a recorded one without a number, and no recorded step is held.
 */
export class StepOrderCheck {
  readonly #recorded: readonly Recorded[];
  /** Null where nothing is on record. */
  readonly #asked: Set<string> | null;
  #askedCount = 0;
  readonly #numbers: boolean;
  #lowest = 0;
  readonly #held: StepRecord[] = [];
  #nextOrdinal = 0;
  #open = 0;
  #breath: "none" | "clean" | "tainted" = "none";

  /** @param signatures of the steps on record; undefined: this gateway does not keep numbers */
  constructor(signatures: Readonly<Record<string, string>> | undefined) {
    this.#numbers = signatures !== undefined;
    const recorded: Recorded[] = [];
    for (const hash in signatures) {
      const signature = parseSignature(signatures[hash] as string);
      const { ordinal } = signature;
      if (ordinal !== undefined) recorded.push({ hash, signature, ordinal });
    }
    this.#asked = recorded.length === 0 ? null : new Set();
    this.#recorded = recorded.sort((a, b) => a.ordinal - b.ordinal);
  }

  get heldCount(): number {
    return this.#held.length;
  }

  /** Rises with everything that is asked for. */
  get askedCount(): number {
    return this.#askedCount;
  }

  /** The code begins to run. */
  onHandlerStart(): void {
    this.#breath = "clean";
  }

  /** A step is about to settle: what is found until it is quiet again follows from it. */
  onSettling(record: StepRecord): void {
    this.#open -= 1;
    this.#breath = record.followsTime ? "tainted" : "clean";
  }

  /** Everything that followed from what was settled has happened. */
  onSettled(): void {
    this.#breath = "none";
  }

  /** The code asks for a step; gives it its number. */
  onFound(record: StepRecord): void {
    this.#askedCount += 1;
    this.#asked?.add(record.identity.hash);
    const isNumbered = this.#open === 0 || this.#breath === "clean";
    this.#open += 1;
    record.followsTime = !isNumbered;
    if (!isNumbered || !this.#numbers) return;
    record.ordinal = this.#nextOrdinal;
    this.#nextOrdinal += 1;
  }

  /** Whether a new step may begin; if not it is held. */
  mayStart(record: StepRecord): boolean {
    if (record.ordinal === undefined || record.ordinal < this.#lowestMissing()) return true;
    this.#held.push(record);
    return false;
  }

  /** Those that were held and may begin now, in the order in which they were found. */
  releaseHeld(): readonly StepRecord[] {
    if (this.#held.length === 0) return [];
    const missing = this.#lowestMissing();
    const stillHeld = this.#held.findIndex((record) => (record.ordinal ?? 0) >= missing);
    return stillHeld === 0 ? [] : this.#held.splice(0, stillHeld === -1 ? this.#held.length : stillHeld);
  }

  /** What the first held step is held for. */
  conflict(): { readonly recorded: string; readonly found: string } | undefined {
    const [first] = this.#held;
    const missing = this.#recorded[this.#lowest];
    if (first === undefined || missing === undefined) return undefined;
    return { recorded: describeSignature(missing.signature), found: describeStep(first) };
  }

  #lowestMissing(): number {
    let at = this.#recorded[this.#lowest];
    while (at !== undefined && this.#asked?.has(at.hash)) {
      this.#lowest += 1;
      at = this.#recorded[this.#lowest];
    }
    return at?.ordinal ?? Number.POSITIVE_INFINITY;
  }
}
