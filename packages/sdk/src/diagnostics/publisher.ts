/**
 * Publishes on the channels of `node:diagnostics_channel` that `channels.ts` names. Callers look at `isHeard` before
 * they make a message, so that nothing is spent where nothing listens.
 */
import type { Channel } from "node:diagnostics_channel";
import { findNodeModule } from "../runtime.ts";
import type { HoldfastChannels } from "./channels.ts";
import { SubscriberGuard } from "./subscriber-guard.ts";

/**
 * One channel. It is looked up at once, where the runtime has it, and kept: a channel that no code holds is forgotten by
 * Bun together with its subscribers.
 */
export class PublishedChannel<Name extends keyof HoldfastChannels> {
  readonly name: Name;
  readonly #guard: SubscriberGuard;
  readonly #channel: Channel | undefined;

  constructor(name: Name) {
    this.name = name;
    this.#guard = new SubscriberGuard(name);
    this.#channel = findNodeModule("node:diagnostics_channel")?.channel(name);
  }

  get isHeard(): boolean {
    return this.#channel?.hasSubscribers === true;
  }

  publish(message: HoldfastChannels[Name]): void {
    if (!this.#channel?.hasSubscribers) return;
    this.#guard.begin();
    this.#channel.publish(message);
    this.#guard.end();
  }

  /** Publishes and calls `code`, which sees the stores that subscribers have bound to the channel. */
  publishAround<T>(message: HoldfastChannels[Name], code: () => T): T {
    if (!this.#channel?.hasSubscribers) return code();
    this.#guard.begin();
    return this.#channel.runStores(message, () => {
      // What `code` leaves behind is not a subscriber's.
      this.#guard.end();
      return code();
    });
  }
}

/** All of them. */
export const channels = {
  state: new PublishedChannel("holdfast:state"),
  stall: new PublishedChannel("holdfast:stall"),
  stepStart: new PublishedChannel("holdfast:step:start"),
  stepEnd: new PublishedChannel("holdfast:step:end"),
  lease: new PublishedChannel("holdfast:lease"),
  isolation: new PublishedChannel("holdfast:isolation"),
} as const;
