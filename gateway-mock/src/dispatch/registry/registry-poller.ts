/** Keeps the mirrored registry young: looks every two seconds whether it has changed, and when another gateway says so. */
import { type Log, messageOf, type TimerHandle, type Timers } from "@holdfast/core";
import { levelFor } from "@holdfast/store";
import type { Functions } from "./functions.ts";

/** Between two looks whether other gateways have stored functions. */
export const FUNCTIONS_EVERY_MS = 2_000;

/**
 * Reads the registry periodically and on request. Decisions are right without it, since they carry the version; with it
 * they are seldom retried, and schedules that a gateway failed to store are created.
 */
export class RegistryPoller {
  readonly #options: { readonly timers: Timers; readonly log: Log };
  readonly #functions: Functions;
  #timer: TimerHandle | null = null;
  #stopped = false;

  constructor(options: { readonly timers: Timers; readonly log: Log }, functions: Functions) {
    this.#options = options;
    this.#functions = functions;
  }

  start(): void {
    const read = (): void => void this.now().then(() => this.start());
    if (!this.#stopped) this.#timer = this.#options.timers.set(FUNCTIONS_EVERY_MS, read, { unref: true });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async now(): Promise<void> {
    await this.#functions.refresh().catch((error: unknown) => {
      this.#options.log(levelFor(error, "warn"), `The functions could not be read: ${messageOf(error)}`);
    });
  }
}
