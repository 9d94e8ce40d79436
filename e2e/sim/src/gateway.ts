/**
 * A gateway process under simulation: the real core over a model of the store, with sockets and HTTP of the
 * simulated network.
 */

import type { Store } from "@holdfast/store";
import { resolveConfig } from "../../../gateway-mock/src/config/config.ts";
import type { RawEvent } from "../../../gateway-mock/src/dispatch/events/event-checks.ts";
import { type CorePorts, createCore, type GatewayCore } from "../../../gateway-mock/src/gateway-core.ts";
import { flushAnswer, startAnswer } from "../../../gateway-mock/src/http/connect-api.ts";
import { environmentFor } from "../../../gateway-mock/src/http/keys.ts";
import { HoldfastError, type silentLog } from "../../../packages/core/src/index.ts";
import { type Extension, FLUSH_PATH, START_PATH } from "../../../packages/protocol/src/index.ts";
import { ModelStore } from "./database/store.ts";
import type { StoreConditions } from "./database/store-conditions.ts";
import type { Tables } from "./database/tables.ts";
import type { WakeChannel } from "./database/wake-channel.ts";
import type { Network } from "./network.ts";
import type { Dice } from "./random.ts";
import { Actor, type Scheduler } from "./scheduler.ts";

export const SIGNING_KEY = "signkey-test-0123456789abcdef0123456789abcdef";

/** Shorter than real ones, in the same relations: a schedule is not to consist of waiting. */
export const GATEWAY_TIMES = {
  leaseMs: 4000,
  heartbeatMs: 1000,
  retryBaseMs: 200,
  reconnectGraceMs: 1000,
  requestAckMs: 1000,
  drainMs: 5000,
} as const;

export interface GatewayWorld {
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly tables: Tables;
  readonly wakeChannel: WakeChannel;
  readonly dice: Dice;
  readonly versionPolicy: "prefer" | "strict";
  /** As strict as the reference's. */
  readonly isPlain: boolean;
  /** Of the next gateway that starts. */
  readonly gatewayExtensions: () => readonly Extension[];
  storeConditions: StoreConditions;
}

/** An answer to an HTTP call. */
/** Steps that fetch have nothing to call here. */
const noNetwork: CorePorts["call"] = async ({ url }) => ({
  ok: false,
  code: "FETCH_FAILED",
  retry: true,
  message: `${url} is nowhere.`,
});

export interface HttpAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

/** A gateway process: the real core over the model of the store. */
export class GatewayNode {
  readonly name: string;
  readonly actor: Actor;
  readonly core: GatewayCore;
  readonly store: Store;
  ready = false;
  stopping = false;
  /** Until then no answer of the database reaches it. */
  answersAtMs = 0;
  readonly #world: GatewayWorld;

  constructor(world: GatewayWorld, name: string) {
    this.#world = world;
    this.name = name;
    this.actor = new Actor(world.scheduler, name, world.dice.fork());
    const { clock, timers, random } = this.actor;
    const conditions = (): StoreConditions =>
      this.answersAtMs > world.scheduler.nowMs
        ? { ...world.storeConditions, answersAtMs: this.answersAtMs }
        : world.storeConditions;
    const store = new ModelStore(world.tables, world.wakeChannel, this.actor, world.dice, conditions);
    this.store = store;
    const { versionPolicy, isPlain: plain } = world;
    // Then how long a worker may take to acknowledge follows from the lease.
    const { requestAckMs, ...times } = GATEWAY_TIMES;
    const mode = plain ? { plain } : { requestAckMs, extensions: world.gatewayExtensions() };
    const config = resolveConfig({
      ...times,
      ...mode,
      versionPolicy,
      signingKey: SIGNING_KEY,
      logRuns: "off",
      log: this.#log,
    });
    this.core = createCore(config, { store, clock, timers, random, call: noNetwork });
    this.actor.soon(() => void this.#start());
  }

  get isUp(): boolean {
    return this.ready && this.actor.alive && !this.stopping;
  }

  readonly #log: typeof silentLog = (level, message) => {
    const { trace } = this.#world.scheduler;
    if (trace.lines && level !== "debug") trace.lines.push(`${" ".repeat(11)}${this.name} logs ${level}: ${message}`);
  };

  async #start(): Promise<void> {
    try {
      await this.core.dispatcher.start();
    } catch {
      // As a process that cannot reach its database at the start: it ends, and is started again.
      this.actor.die();
      return;
    }
    this.ready = true;
    const { network } = this.#world;
    network.listen(this.name, {
      actor: this.actor,
      accept: (socket) => this.core.sessions.accept(socket as never, socket.stream),
    });
  }

  /** Runs in the gateway's own turn. */
  async http(path: string, headers: Readonly<Record<string, string>>, body: Uint8Array): Promise<HttpAnswer> {
    const { core } = this;
    const signer = core.keys.signer(headers.authorization);
    if (!signer) return answer(401);
    const environment = environmentFor(signer, headers["x-inngest-env"]);
    const endpoint = `ws://${this.name}/v0/connect`;
    try {
      if (path === START_PATH) {
        if (core.isDraining) return answer(503);
        const { keys, id: gatewayId, newId } = core;
        return answer(
          200,
          startAnswer({ keys, clock: this.actor.clock, gatewayId, newId }, endpoint, signer, environment),
        );
      }
      if (path === FLUSH_PATH) return answer(200, await flushAnswer(core.dispatcher.httpReports, body, environment));
    } catch (error) {
      return answer(HoldfastError.is(error) && error.code === "STORE_FAILED" ? 503 : 500);
    }
    return answer(404);
  }

  sendEvent(event: RawEvent, how: Parameters<GatewayCore["dispatcher"]["sendEvents"]>[1]): Promise<string[]> {
    return this.core.dispatcher.sendEvents([event], how);
  }

  /** As on SIGTERM: workers go elsewhere, then everything ends. */
  stop(): void {
    if (this.stopping || !this.actor.alive) return;
    this.stopping = true;
    this.actor.soon(() => void this.#stop());
  }

  async #stop(): Promise<void> {
    await this.core.drain();
    this.core.sessions.close();
    await this.core.dispatcher.stop();
    // The last frames leave before the process ends.
    this.actor.timers.set(20, () => this.actor.die());
  }
}

function answer(status: number, body: Uint8Array = new Uint8Array(0)): HttpAnswer {
  return { status, body };
}
