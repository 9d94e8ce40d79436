/** HTTP calls of workers to any gateway that is up, over the simulated network. */
import type { RawEvent } from "../../../gateway-mock/src/dispatch/events/event-checks.ts";
import type { GatewayCall, GatewayPost } from "../../../packages/sdk/src/connection/thread/gateway-http.ts";
import type { GatewayNode, HttpAnswer } from "./gateway.ts";
import type { Network } from "./network.ts";
import type { Actor } from "./scheduler.ts";

/** HTTP calls of workers: to any gateway that is there, as behind a load balancer. */
export class GatewayCalls {
  readonly #network: Network;
  readonly #gateways: () => readonly GatewayNode[];

  constructor(network: Network, gateways: () => readonly GatewayNode[]) {
    this.#network = network;
    this.#gateways = gateways;
  }

  /** As a client does that keeps trying: events carry their ids, so none happens twice. */
  async sendEvents(caller: Actor, events: readonly RawEvent[], environment: string): Promise<{ ids: string[] }> {
    for (;;) {
      const ids = await this.#sendOnce(caller, events, environment);
      if (ids) return { ids };
      await new Promise<void>((resolve) => void caller.timers.set(300, resolve, { unref: true }));
    }
  }

  #sendOnce(caller: Actor, events: readonly RawEvent[], environment: string): Promise<string[] | null> {
    const { scheduler, dice, conditions } = this.#network;
    return new Promise((resolve) => {
      if (!caller.acts()) return;
      const later = (ids: string[] | null): void =>
        void scheduler.after(dice.within(0.1, conditions.latencyMs), caller, () => resolve(ids));
      const up = this.#gateways().filter((gateway) => gateway.isUp);
      if (up.length === 0 || dice.chance(conditions.httpFailRate / 2)) return later(null);
      const gateway = dice.pick(up);
      const isAnswerLost = dice.chance(conditions.httpFailRate / 2);
      gateway.actor.onDeath(() => later(null));
      scheduler.after(dice.within(0.1, conditions.latencyMs), gateway.actor, () => {
        const answer = (ids: string[] | null): void => {
          if (gateway.actor.acts()) later(isAnswerLost ? null : ids);
        };
        gateway.core.dispatcher.sendEvents(events, { environment }).then(answer, () => answer(null));
      });
    });
  }

  post(caller: Actor, url: URL, call: GatewayCall): ReturnType<GatewayPost> {
    const { scheduler, dice, conditions } = this.#network;
    return new Promise((resolve, reject) => {
      if (!caller.acts()) return;
      const { signal, headers } = call;
      const onAbort = (): void => reject(signal.reason);
      // Node keeps a signal that depends on others for as long as it is listened to.
      const release = (): void => signal.removeEventListener("abort", onAbort);
      caller.onDeath(release);
      const later = (act: () => void): void =>
        void scheduler.after(dice.within(0.1, conditions.latencyMs), caller, act);
      const refuse = (why: string): void =>
        later(() => {
          release();
          reject(new Error(why));
        });
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      const up = this.#gateways().filter((gateway) => gateway.ready && gateway.actor.alive);
      const fate = dice.chance(conditions.httpFailRate)
        ? dice.pick(["refused", "lost", "answer lost", "bad answer"])
        : "well";
      if (up.length === 0 || fate === "refused") return refuse("connect ECONNREFUSED");
      const gateway = dice.pick(up);
      const body = call.body.slice();
      scheduler.trace.note(scheduler.nowMs, caller.name, "calls", url.pathname);
      if (fate === "lost") return;
      scheduler.after(dice.within(0.1, 2 * conditions.latencyMs), gateway.actor, () => {
        void gateway.http(url.pathname, headers, body).then(({ status, body: bytes }: HttpAnswer) => {
          if (!gateway.actor.acts() || fate === "answer lost") return;
          const answered = fate === "bad answer" ? { status: 502, body: new Uint8Array(3) } : { status, body: bytes };
          later(() => {
            release();
            resolve({ status: answered.status, body: streamOf(answered.body) });
          });
        });
      });
      gateway.actor.onDeath(() => refuse("socket hang up"));
    });
  }
}

async function* streamOf(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
