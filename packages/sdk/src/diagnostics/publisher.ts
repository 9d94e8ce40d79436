/**
 * Publishes on the channels of `node:diagnostics_channel` that `channels.ts` names. Callers look at `isHeard` before
 * they make a message, so that nothing is spent where nothing listens.
 */
import type { Channel } from "node:diagnostics_channel";
import { findNodeModule } from "../runtime.ts";
import type { HoldfastChannels } from "./channels.ts";
import { SubscriberGuard } from "./subscriber-guard.ts";

/** One channel. It is looked up when it is first asked about, and kept: Node forgets channels that are not. */
export class PublishedChannel<Name extends keyof HoldfastChannels> {
  readonly name: Name;
  readonly #guard: SubscriberGuard;
  /** Null where the runtime has no channels. */
  #channel: Channel | null | undefined;

  constructor(name: Name) {
    this.name = name;
    this.#guard = new SubscriberGuard(name);
  }

  get isHeard(): boolean {
    if (this.#channel === undefined)
      this.#channel = findNodeModule("node:diagnostics_channel")?.channel(this.name) ?? null;
    return this.#channel?.hasSubscribers === true;
  }

  publish(message: HoldfastChannels[Name]): void {
    if (!this.isHeard || !this.#channel) return;
    this.#guard.begin();
    this.#channel.publish(message);
    this.#guard.end();
  }

  /** Publishes and calls `code`, which sees the stores that subscribers have bound to the channel. */
  publishAround<T>(message: HoldfastChannels[Name], code: () => T): T {
    if (!this.isHeard || !this.#channel) return code();
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
