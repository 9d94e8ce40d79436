/**
 * How long the module of an app is loaded for a replay: until it is evaluated, or until it has connected and comes to
 * nothing more. An entry file may wait for `closed` at its end, which never comes where nothing is connected.
 */
import { deferred, systemTimers, type TimerHandle } from "@holdfast/core";

/** After a connection another one may follow, of another app. */
const QUIET_MS = 2_000;

export class ModuleLoading {
  readonly #evaluated = deferred<unknown>();
  readonly #quiet = deferred<undefined>();
  #hasConnected = false;
  #isLate = false;
  #timer: TimerHandle | undefined;

  /** The module gives `connect()` functions. */
  onConnect(): void {
    this.#hasConnected = true;
    this.#waitQuietly();
  }

  /** What the module exports; nothing where it is not waited for any longer. */
  async load(importModule: () => Promise<unknown>): Promise<unknown> {
    importModule().then(this.#evaluated.resolve, this.#evaluated.reject);
    return this.#orQuiet(this.#evaluated.promise);
  }

  /** The module is evaluated and has no functions: what it has started may connect yet. */
  async connectedLate(): Promise<void> {
    this.#isLate = true;
    this.#waitQuietly();
    await this.#orQuiet(new Promise<never>(() => {}));
  }

  async #orQuiet(work: Promise<unknown>): Promise<unknown> {
    // Nothing is left that could go on: neither could the module.
    const onIdle = (): void => {
      if (this.#hasConnected || this.#isLate) this.#quiet.resolve(undefined);
    };
    process.on("beforeExit", onIdle);
    try {
      return await Promise.race([work, this.#quiet.promise]);
    } finally {
      process.off("beforeExit", onIdle);
      this.#timer?.cancel();
    }
  }

  #waitQuietly(): void {
    this.#timer?.cancel();
    this.#timer = systemTimers.set(QUIET_MS, () => this.#quiet.resolve(undefined), { unref: true });
  }
}
