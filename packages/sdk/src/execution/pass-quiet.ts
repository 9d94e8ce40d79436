/**
 * What a pass does once all is quiet: the handler has been given all that it may have, and asks for nothing more. `Pass`
 * reports what happens, `idle-detector.ts` finds that nothing does.
 */
import type { ExtendedContext } from "@holdfast/protocol";
import { NonDeterminismError } from "../steps/errors.ts";
import type { Journal } from "../steps/journal.ts";
import type { Compensation } from "./compensation.ts";
import { IdleDetector } from "./idle-detector.ts";
import { PassGrace } from "./pass-grace.ts";
import type { PassHost } from "./pass-host.ts";
import type { PassTimers } from "./pass-timers.ts";
import { RECORDED_GRACE_MS, UNDO_GRACE_MS } from "./pass-times.ts";
import type { StepOrderCheck } from "./step-order-check.ts";

export interface PassQuietDeps {
  readonly timers: PassTimers;
  readonly journal: Journal;
  readonly order: StepOrderCheck;
  readonly compensation: Compensation | undefined;
  /** Steps that failed and are tried again. */
  readonly retries: ExtendedContext["retries"];
}

type QuietHost = Pick<PassHost, "isSettled" | "find" | "send" | "fail" | "settleLater" | "undo">;

export class PassQuiet {
  readonly #journal: Journal;
  readonly #order: StepOrderCheck;
  readonly #compensation: Compensation | undefined;
  readonly #retries: ExtendedContext["retries"];
  readonly #host: QuietHost;
  readonly #grace: PassGrace;
  readonly #idle = new IdleDetector(this);
  /** What the machine wants to hear of. */
  #serial: number | null = null;

  constructor(deps: PassQuietDeps, host: QuietHost) {
    this.#journal = deps.journal;
    this.#order = deps.order;
    this.#compensation = deps.compensation;
    this.#retries = deps.retries;
    this.#host = host;
    this.#grace = new PassGrace(deps.timers, this);
  }

  /** Tells the machine when all is quiet. */
  watch(serial: number): void {
    this.#serial = serial;
    this.await();
  }

  /** Looks at what is to be done when all is quiet. */
  await(): void {
    this.#idle.notifyWhenIdle();
  }

  /** Something happened: it takes longer. */
  noteActivity(): void {
    this.#idle.noteActivity();
  }

  stop(): void {
    this.#idle.stop();
  }

  get isSettled(): boolean {
    return this.#host.isSettled;
  }

  get askedCount(): number {
    return this.#order.askedCount;
  }

  onNews(): void {
    this.await();
  }

  onIdle(): void {
    if (this.#journal.heldCount > 0) {
      for (const hash of this.#journal.releaseEarliest()) this.#host.settleLater(hash);
      return this.await();
    }
    if (this.#compensation?.isCollecting) {
      return this.#compensation.isBeginning ? this.#sendQuiet() : this.#onCollected(this.#compensation);
    }
    if (this.#order.heldCount > 0) return this.#grace.start(RECORDED_GRACE_MS, () => this.#conflict());
    // Ending now would only be asked for again at once.
    const isRetryMissing = Object.keys(this.#retries).some((hash) => !this.#isAsked(hash));
    if (isRetryMissing && !this.#compensation) return this.#grace.start(RECORDED_GRACE_MS, () => this.#sendQuiet());
    this.#sendQuiet();
  }

  #sendQuiet(): void {
    const serial = this.#serial;
    this.#serial = null;
    if (serial !== null) this.#host.send({ type: "quiet", serial });
  }

  #conflict(): void {
    const conflict = this.#order.conflict();
    if (conflict) this.#host.fail(new NonDeterminismError(conflict.recorded, conflict.found));
  }

  #onCollected(compensation: Compensation): void {
    if (!compensation.isMissingSome((hash) => this.#isAsked(hash))) return this.#host.undo();
    this.#grace.start(UNDO_GRACE_MS, () => this.#host.undo());
  }

  #isAsked(hash: string): boolean {
    return this.#host.find(hash) !== undefined;
  }
}
