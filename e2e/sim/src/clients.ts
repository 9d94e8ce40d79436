import type { Registry } from "./database/registry.ts";
import type { Tables } from "./database/tables.ts";
import type { GatewayNode } from "./gateway.ts";
import type { Network } from "./network.ts";
import { type HearBy, SAID } from "./programs.ts";
import { createDice, type Dice } from "./random.ts";
import { Actor } from "./scheduler.ts";

/** An event that a client of the gateways sends until somebody has taken it. */
export interface Sending {
  readonly name: string;
  readonly data: Readonly<Record<string, string>>;
  /** Its time, when that lies ahead. */
  readonly ts: number | null;
  readonly seed: { readonly atMs: number; readonly entropy: Uint8Array };
  acceptedIds: readonly string[] | null;
}

export interface ClientWorld {
  readonly network: Network;
  readonly tables: Tables;
  readonly gateways: readonly GatewayNode[];
}

const SEED_MS = 1_700_000_000_000;
const AGAIN_MS = 1500;

/** Those who send events and signals from outside, and do not give up. */
export class Clients {
  readonly sendings: Sending[] = [];
  /** To any gateway, from the moment on at which the event's function is stored: nobody else need know it. */
  sendsToAny = false;
  readonly #world: ClientWorld;
  readonly #actor: Actor;
  readonly #dice: Dice;
  readonly #heard = new Set<string>();

  constructor(world: ClientWorld, seed: number, speechSeed: number) {
    this.#world = world;
    this.#actor = new Actor(world.network.scheduler, "client", seed);
    this.#dice = createDice(speechSeed);
  }

  /** Everything that was to be sent has been taken. */
  get isDone(): boolean {
    return this.sendings.every(({ acceptedIds }) => acceptedIds !== null);
  }

  /** `entropy` makes the ids of the event: however often it is sent, it is one. */
  plan(entropy: Uint8Array, atMs: number, what: Pick<Sending, "name" | "data"> & { readonly aheadMs?: number }): void {
    const { scheduler } = this.#world.network;
    const { name, data, aheadMs } = what;
    const ts = aheadMs === undefined ? null : Math.round(SEED_MS + atMs + aheadMs);
    const seed = { atMs: SEED_MS + this.sendings.length, entropy };
    const sending: Sending = { name, data, ts, seed, acceptedIds: null };
    this.sendings.push(sending);
    scheduler.at(atMs, null, () => this.#send(sending));
  }

  /** A run waits for this: it is sent until it was taken. */
  hears(by: HearBy, runId: string, name: string): void {
    if (this.#heard.has(name)) return;
    this.#heard.add(name);
    this.#sayLater(by, runId, name);
  }

  /** As a client does that hears nothing or an error: once more, with the same ids. */
  #send(sending: Sending): void {
    const { scheduler, dice, mood } = this.#world.network;
    if (sending.acceptedIds) return;
    scheduler.after(AGAIN_MS, null, () => this.#send(sending));
    if (this.sendsToAny && !isStored(this.#world.tables.registry, sending.name)) return;
    const gateway = this.#reach(dice);
    if (!gateway) return;
    const isAnswerLost = dice.chance(mood.httpFailRate / 2);
    scheduler.after(dice.within(0.1, mood.latencyMs), gateway.actor, () => {
      const accepted = (ids: readonly string[]): void => {
        if (isAnswerLost || !gateway.actor.acts()) return;
        scheduler.after(dice.within(0.1, mood.latencyMs), this.#actor, () => {
          sending.acceptedIds ??= ids;
        });
      };
      const { name, data, ts, seed } = sending;
      gateway.sendEvent({ name, data, ...(ts === null ? {} : { ts }) }, seed).then(accepted, () => {});
    });
  }

  #reach(dice: Dice): GatewayNode | undefined {
    const { network, gateways } = this.#world;
    const known = (one: GatewayNode): boolean => this.sendsToAny || [...one.core.engine.functions.all()].length > 0;
    const up = gateways.filter((one) => one.isUp && known(one));
    if (up.length === 0 || dice.chance(network.mood.httpFailRate / 2)) return undefined;
    return dice.pick(up);
  }

  #sayLater(by: HearBy, runId: string, name: string): void {
    const { scheduler } = this.#world.network;
    scheduler.after(this.#dice.within(5, 900), null, () => this.#say(by, runId, name));
  }

  #say(by: HearBy, runId: string, name: string): void {
    const { tables } = this.#world;
    const run = tables.runs.get(runId);
    if (!run || run.head.endedMs !== null) return;
    const isAwaited = [...run.waits.values()].some(
      (wait) => (wait.name === name || wait.expression?.includes(name) === true) && wait.beganMs < tables.nowMs,
    );
    // An event that comes before the wait does not count; a signal may be tried at any time.
    if (by === "event" && isAwaited) {
      const entropy = Uint8Array.from({ length: 10 }, () => this.#dice.between(0, 255));
      this.plan(entropy, this.#world.network.scheduler.nowMs, { name: SAID, data: { to: name } });
      return;
    }
    this.#sayLater(by, runId, name);
    const gateway = this.#reach(this.#dice);
    if (by === "event" || !gateway) return;
    gateway.actor.soon(() => void gateway.core.engine.signal("", name, JSON.stringify(name)).catch(() => {}));
  }
}

/** Whether the function that an event starts, if it starts one, is stored, whoever knows of it. */
const isStored = (registry: Registry, event: string): boolean =>
  !event.startsWith("sim/") ||
  registry.all().some(({ active, triggersJson }) => active && triggersJson.includes(`"${event}"`));
