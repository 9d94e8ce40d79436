/**
 * What handlers in this thread publish about their steps, for subscribers on main. The channels here are subscribed to
 * only while something on main subscribes, so that otherwise no message is made.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { StepEndMessage, StepStartMessage } from "../../diagnostics/channels.ts";
import type { PublishedStep } from "../shared/isolation-messages.ts";

export class StepForwarder {
  readonly #send: (step: PublishedStep) => void;
  #isSubscribed = false;

  constructor(send: (step: PublishedStep) => void) {
    this.#send = send;
  }

  /** Asked before each turn. */
  setHeard(isHeard: boolean): void {
    if (isHeard === this.#isSubscribed) return;
    this.#isSubscribed = isHeard;
    const set = isHeard ? subscribe : unsubscribe;
    set("holdfast:step:start", this.#onStart);
    set("holdfast:step:end", this.#onEnd);
  }

  readonly #onStart = (message: unknown): void => this.#send({ moment: "start", message: message as StepStartMessage });

  readonly #onEnd = (message: unknown): void => this.#send({ moment: "end", message: message as StepEndMessage });
}
