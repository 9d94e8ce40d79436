import type { TimerHandle } from "@holdfast/core";
import type { Agents, Slot } from "./agents.ts";
import type { Dispatch, Dispatches } from "./dispatches.ts";
import type { EngineOptions } from "./ports.ts";

/**
 * Agents that come and go. When a socket breaks its requests keep their leases for a grace, in which the same instance
 * may come back and say that it still has them. What it has not spoken of by then is released as lost, which costs no
 * attempt. Agents of the plain protocol speak of a request only once per extension interval, so one that came back gets
 * that long.
 */
export class Presence {
  readonly #options: EngineOptions;
  readonly #agents: Agents;
  readonly #dispatches: Dispatches;
  readonly #timers = new Set<TimerHandle>();

  constructor(options: EngineOptions, agents: Agents, dispatches: Dispatches) {
    this.#options = options;
    this.#agents = agents;
    this.#dispatches = dispatches;
  }

  lost(slot: Slot): void {
    const held = [...slot.requests].flatMap((requestId) => this.#dispatches.get(requestId) ?? []);
    this.#agents.remove(slot);
    for (const dispatch of held) this.#dispatches.detach(dispatch);
    if (held.length === 0) return;
    const { instanceId } = slot.session;
    const lostMs = this.#options.clock.monotonicMs();
    this.#after(this.#options.settings.reconnectGraceMs, () => this.#graceOver(held, instanceId, lostMs));
  }

  #graceOver(held: readonly Dispatch[], instanceId: string, lostMs: number): void {
    const orphans = held.filter((one) => one.slot === null && this.#dispatches.get(one.requestId) === one);
    if (orphans.length === 0) return;
    const back = this.#plainReturn(instanceId);
    if (!back) {
      this.#giveUp(orphans);
      return;
    }
    for (const dispatch of orphans) this.#dispatches.move(dispatch, back);
    this.#after(back.session.extendLeaseMs, () => {
      this.#giveUp(orphans.filter((one) => this.#dispatches.get(one.requestId) === one && one.heardMs <= lostMs));
    });
  }

  /** A session of the same instance that extends leases only at its interval. */
  #plainReturn(instanceId: string): Slot | undefined {
    for (const slot of this.#agents.all()) {
      const { session } = slot;
      if (session.instanceId === instanceId && !session.extensions.has("checkpoint")) return slot;
    }
    return undefined;
  }

  #giveUp(dispatches: readonly Dispatch[]): void {
    if (dispatches.length === 0) return;
    this.#options.log(
      "warn",
      `${dispatches.length} request(s) were lost with their agent; their runs go on elsewhere.`,
    );
    this.#dispatches.giveUp(dispatches, (dispatch) => dispatch.acked);
  }

  stop(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #after(delayMs: number, fire: () => void): void {
    const timer = this.#options.timers.set(
      delayMs,
      () => {
        this.#timers.delete(timer);
        fire();
      },
      { unref: true },
    );
    this.#timers.add(timer);
  }
}
