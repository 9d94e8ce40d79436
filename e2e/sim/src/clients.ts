/** Clients outside of the app: they send events and signals to the gateways until each was taken. */
import { environmentOf, qualify, type Registry } from "@holdfast/store";
import type { Tables } from "./database/tables.ts";
import type { GatewayNode } from "./gateway.ts";
import type { Network } from "./network.ts";
import { APP_ID, type HearBy, SAID } from "./programs.ts";
import { createDice, type Dice } from "./random.ts";
import { Actor } from "./scheduler.ts";

/** An event that a client of the gateways sends until someone has taken it. */
export interface Sending {
  readonly name: string;
  readonly data: Readonly<Record<string, string>>;
  readonly environment: string;
  /** The sender's own id of it. */
  readonly id: string | null;
  /** Its time, when that lies ahead. */
  readonly ts: number | null;
  /** Null: nothing but the sender's id tells that it is sent again. */
  readonly seed: { readonly atMs: number; readonly entropy: Uint8Array } | null;
  acceptedIds: readonly string[] | null;
  /** Requests with it that a gateway may still carry out; one that a gateway's death leaves open is counted for ever. */
  underWay: number;
}

/** What is to be sent. */
export interface Planned {
  readonly name: string;
  readonly data: Readonly<Record<string, string>>;
  readonly aheadMs?: number;
  readonly environment?: string;
  readonly id?: string;
  readonly isSeeded?: boolean;
}

/** What a run waits for. */
export interface Awaited {
  readonly by: HearBy;
  readonly runId: string;
  readonly name: string;
  readonly says: string;
  readonly environment: string;
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
  /** To any gateway, from the moment on at which the event's function is stored: no one else needs to know it. */
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

  /** `entropy` makes the ids of the event: however often it is sent, it is one. Returns what a twin's ids are made of. */
  plan(entropy: Uint8Array, atMs: number, what: Planned, seedMs = SEED_MS + this.sendings.length): number {
    const { scheduler } = this.#world.network;
    const { name, data, aheadMs, environment = "", id = null, isSeeded = true } = what;
    const ts = aheadMs === undefined ? null : Math.round(SEED_MS + atMs + aheadMs);
    const seed = isSeeded ? { atMs: seedMs, entropy } : null;
    const sending: Sending = { name, data, environment, id, ts, seed, acceptedIds: null, underWay: 0 };
    this.sendings.push(sending);
    scheduler.at(atMs, null, () => this.#send(sending));
    return seedMs;
  }

  /** A run waits for this: it is sent until it was taken. */
  hears(awaited: Awaited): void {
    // A run that was made of another one waits for what is called the same.
    const name = `${awaited.environment} ${awaited.runId} ${awaited.name}`;
    if (this.#heard.has(name)) return;
    this.#heard.add(name);
    if (awaited.by === "early") this.#sayAtAnyTime(awaited);
    else this.#sayLater(awaited);
  }

  /** As a client does that hears nothing or an error: once more, with the same ids. */
  #send(sending: Sending): void {
    const { scheduler, dice, conditions } = this.#world.network;
    if (sending.acceptedIds) return;
    scheduler.after(AGAIN_MS, null, () => this.#send(sending));
    if (this.sendsToAny && !isStored(this.#world.tables.registry, sending)) return;
    const gateway = this.#reach(dice, sending.environment);
    if (!gateway) return;
    const isAnswerLost = dice.chance(conditions.httpFailRate / 2);
    sending.underWay += 1;
    scheduler.after(dice.within(0.1, conditions.latencyMs), gateway.actor, () => {
      const accepted = (ids: readonly string[]): void => {
        if (isAnswerLost || !gateway.actor.acts()) return;
        scheduler.after(dice.within(0.1, conditions.latencyMs), this.#actor, () => {
          sending.acceptedIds ??= ids;
        });
      };
      const { name, data, environment, id, ts, seed } = sending;
      const event = { name, data, ...(ts === null ? {} : { ts }), ...(id === null ? {} : { id }) };
      const over = (): void => {
        sending.underWay -= 1;
      };
      const sent = gateway.sendEvent(event, { environment, ...(seed ? { seed } : {}) });
      sent.then(accepted, () => {}).finally(over);
    });
  }

  #reach(dice: Dice, environment: string): GatewayNode | undefined {
    const { network, gateways } = this.#world;
    const known = ({ core }: GatewayNode): boolean =>
      this.sendsToAny ||
      [...core.dispatcher.functions.all()].some(({ appId }) => appId === qualify(environment, APP_ID));
    const up = gateways.filter((one) => one.isUp && known(one));
    if (up.length === 0 || dice.chance(network.conditions.httpFailRate / 2)) return undefined;
    return dice.pick(up);
  }

  #sayLater(awaited: Awaited): void {
    const { scheduler } = this.#world.network;
    scheduler.after(this.#dice.within(5, 900), null, () => this.#say(awaited));
  }

  /** Once, whether it is waited for or not. */
  #sayAtAnyTime({ name, says, environment }: Awaited): void {
    const { nowMs } = this.#world.network.scheduler;
    const atMs = nowMs + this.#dice.within(0, this.#dice.pick([5, 100, 1_500]));
    const entropy = Uint8Array.from({ length: 10 }, () => this.#dice.between(0, 255));
    this.plan(entropy, atMs, { name: SAID, data: { to: name, says }, environment });
  }

  #say(awaited: Awaited): void {
    const { tables } = this.#world;
    const { by, runId, name, says, environment } = awaited;
    const run = tables.runs.get(runId);
    if (!run || run.head.endedMs !== null) return;
    const isAwaited = [...run.waits.values()].some(
      (wait) =>
        (wait.name === qualify(environment, name) || wait.expression?.includes(name) === true) &&
        wait.beganMs < tables.nowMs,
    );
    // An event that comes before the wait does not count; a signal may be tried at any time.
    if (by === "event" && isAwaited) {
      const entropy = Uint8Array.from({ length: 10 }, () => this.#dice.between(0, 255));
      this.plan(entropy, this.#world.network.scheduler.nowMs, { name: SAID, data: { to: name, says }, environment });
      return;
    }
    this.#sayLater(awaited);
    const gateway = this.#reach(this.#dice, environment);
    if (by === "event" || !gateway) return;
    gateway.actor.soon(
      () => void gateway.core.dispatcher.sendSignal(environment, name, JSON.stringify(says)).catch(() => {}),
    );
  }
}

/** Whether the function that an event starts, if it starts one, is stored, whoever knows of it. */
const isStored = (registry: Registry, { name, environment }: Sending): boolean =>
  !name.startsWith("sim/") ||
  registry
    .all()
    .some(
      ({ active, slug, triggersJson }) =>
        active && environmentOf(slug) === environment && triggersJson.includes(`"${name}"`),
    );
