import { AppNode, type AppPlan, type AppWorld } from "./app.ts";
import { GatewayCalls } from "./calls.ts";
import { CALM_STORE, type StoreMood } from "./database/mood.ts";
import { Notices } from "./database/notices.ts";
import { Tables } from "./database/tables.ts";
import type { FaultKind, FaultPlan } from "./faults.ts";
import { planFaults } from "./faults.ts";
import { GatewayNode, type GatewayWorld } from "./gateway.ts";
import { CALM, Network } from "./network.ts";
import { Oracle } from "./oracle.ts";
import { type FunctionPlan, randomFunction } from "./programs.ts";
import { createDice, type Dice } from "./random.ts";
import { Actor, Scheduler } from "./scheduler.ts";
import type { SimThread } from "./threads.ts";
import type { TraceHash } from "./trace.ts";

const ALL_EXTENSIONS = ["checkpoint", "nack", "cancel", "stall"] as const;

/** An event that a client of the gateways sends until somebody has taken it. */
interface Sending {
  readonly name: string;
  readonly seed: { readonly atMs: number; readonly entropy: Uint8Array };
  acceptedIds: readonly string[] | null;
}

/** Everything of one schedule: who is there, what goes wrong, what has to come of it. */
export class World implements AppWorld, GatewayWorld {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly network: Network;
  readonly tables: Tables;
  readonly notices = new Notices();
  readonly oracle: Oracle;
  readonly calls: GatewayCalls;
  readonly functions: readonly FunctionPlan[];
  readonly threads = new Map<Actor, { readonly app: AppNode; readonly thread: SimThread }>();
  readonly faults: FaultPlan;
  storeMood: StoreMood;
  readonly sendings: Sending[] = [];
  readonly cancelled = new Set<string>();
  apps: AppNode[] = [];
  gateways: GatewayNode[] = [];
  readonly #client: Actor;
  readonly #faultDice: Dice;
  readonly #appPlan: AppPlan;
  #ending = false;
  #born = 0;

  constructor(seed: number, trace: TraceHash) {
    const dice = createDice(seed);
    const shape = createDice(dice.fork());
    this.scheduler = new Scheduler(trace);
    this.dice = createDice(dice.fork());
    this.#faultDice = createDice(dice.fork());
    // Most are small: they are quick, and say more clearly what went wrong.
    const isSmall = shape.chance(0.65);
    this.faults = planFaults(createDice(dice.fork()), isSmall);
    this.network = new Network(this.scheduler, createDice(dice.fork()), this.faults.network);
    this.storeMood = this.faults.store;
    this.tables = new Tables(() => this.scheduler.nowMs);
    this.oracle = new Oracle(this.scheduler, this.tables);
    this.calls = new GatewayCalls(this.network, () => this.gateways);
    this.#client = new Actor(this.scheduler, "client", dice.fork());
    this.#appPlan = {
      extensions: shape.chance(0.65) ? ALL_EXTENSIONS : [],
      maxWorkerConcurrency: shape.pick([1, 2, 5, 100]),
      outboxCount: shape.pick([2, 10, 1000]),
      drainTimeoutMs: shape.pick([0, 500, 3000]),
      stall: {
        thresholdMs: shape.pick([null, 1000]),
        // Then leases of a main that stands still are given up on purpose.
        maxStallMs: this.faults.isGentle ? null : shape.pick([null, null, 2500]),
        noStack: null,
      },
    };
    // Where leases are given up over a block, a function that always blocks for longer would never end.
    const mayBlock = this.faults.mayBlock && this.#appPlan.stall.maxStallMs === null;
    this.functions = Array.from({ length: shape.between(1, 3) }, (_, i) => randomFunction(shape, i, mayBlock));
    this.#watch();
    this.#arrange(shape, isSmall);
  }

  /** From now on nothing goes wrong; what is missing comes back. */
  calm(): void {
    this.network.mood = CALM;
    this.storeMood = CALM_STORE;
    this.scheduler.trace.note(this.scheduler.nowMs, "world", "calm");
  }

  /** Nobody is started again any more. */
  end(): void {
    this.#ending = true;
  }

  get liveApps(): readonly AppNode[] {
    return this.apps.filter((app) => app.main.alive);
  }

  get liveGateways(): readonly GatewayNode[] {
    return this.gateways.filter((gateway) => gateway.actor.alive);
  }

  #watch(): void {
    this.scheduler.onCrash = ({ actor, error }) => {
      const owner = this.threads.get(actor);
      if (owner) owner.thread.throws(error);
      else this.oracle.fail("S17", `${actor.name}: ${(error as Error).stack ?? error}`);
    };
    this.network.tap = (direction, sender, bytes, connection) => {
      const agent = direction === "up" ? sender : connection.agent.actor;
      const app = this.threads.get(agent)?.app;
      if (direction === "up") app?.watch.sends(sender, bytes, connection);
      else app?.watch.isSent(bytes);
    };
  }

  #arrange(shape: Dice, isSmall: boolean): void {
    const { scheduler, faults } = this;
    const gateways = isSmall ? shape.pick([1, 1, 2]) : shape.pick([1, 2, 2, 3]);
    const apps = isSmall ? shape.pick([1, 1, 2]) : shape.pick([1, 2, 2, 3]);
    for (let i = 0; i < gateways; i += 1) this.#startGateway();
    for (let i = 0; i < apps; i += 1) scheduler.after(shape.within(0, 200), null, () => this.#startApp());
    const events = isSmall ? shape.between(1, 2) : shape.between(2, 6);
    for (let i = 0; i < events; i += 1) this.#planEvent(shape, i);
    for (const { atMs, kind } of faults.timed) scheduler.at(atMs, null, () => this.#apply(kind));
  }

  #planEvent(shape: Dice, index: number): void {
    const entropy = Uint8Array.from({ length: 10 }, () => shape.between(0, 255));
    const seed = { atMs: 1_700_000_000_000 + index, entropy };
    const sending: Sending = { name: `sim/${shape.pick(this.functions).id}`, seed, acceptedIds: null };
    this.sendings.push(sending);
    const atMs = shape.within(300, Math.max(400, this.faults.windowMs * 0.8));
    this.scheduler.at(atMs, null, () => this.#send(sending));
  }

  /** As a client does that hears nothing or an error: once more, with the same ids. */
  #send(sending: Sending): void {
    const { scheduler, network } = this;
    const { dice, mood } = network;
    if (sending.acceptedIds) return;
    scheduler.after(1500, null, () => this.#send(sending));
    const up = this.gateways.filter((one) => one.isUp && [...one.core.engine.functions.all()].length > 0);
    if (up.length === 0 || dice.chance(mood.httpFailRate / 2)) return;
    const gateway = dice.pick(up);
    const isAnswerLost = dice.chance(mood.httpFailRate / 2);
    scheduler.after(dice.within(0.1, mood.latencyMs), gateway.actor, () => {
      const accepted = (ids: readonly string[]): void => {
        if (isAnswerLost || !gateway.actor.acts()) return;
        scheduler.after(dice.within(0.1, mood.latencyMs), this.#client, () => {
          sending.acceptedIds ??= ids;
        });
      };
      gateway.sendEvent({ name: sending.name, data: { from: "somebody" } }, sending.seed).then(accepted, () => {});
    });
  }

  #startGateway(): void {
    this.#born += 1;
    const gateway = new GatewayNode(this, `g${this.#born}`);
    this.gateways = [...this.gateways.filter(({ actor }) => actor.alive), gateway];
    gateway.actor.wallOffsetMs = this.dice.chance(0.3) ? this.dice.within(-3000, 3000) : 0;
    gateway.actor.onDeath(() => {
      if (!this.#ending) this.scheduler.after(this.dice.within(50, 3000), null, () => this.#startGateway());
    });
  }

  #startApp(): void {
    if (this.#ending) return;
    this.#born += 1;
    const app = new AppNode(this, `a${this.#born}`, this.#appPlan);
    this.apps.push(app);
    app.main.onDeath(() => {
      if (!this.#ending) this.scheduler.after(this.dice.within(50, 2000), null, () => this.#startApp());
    });
  }

  #apply(kind: FaultKind): void {
    const { scheduler } = this;
    scheduler.trace.note(scheduler.nowMs, "fault", kind);
    const dice = this.#faultDice;
    const app = this.liveApps.length > 0 ? dice.pick(this.liveApps) : undefined;
    const gateway = this.liveGateways.length > 0 ? dice.pick(this.liveGateways) : undefined;
    const { connections } = this.network;
    const connection = connections.length > 0 ? dice.pick(connections) : undefined;
    const silence = (actor: Actor): void => {
      for (const one of connections) if (one.agent.actor === actor || one.gateway.actor === actor) one.silent = true;
    };
    const jump = dice.pick([-60_000, -5_000, -500, 500, 5_000, 60_000]);
    switch (kind) {
      case "cut":
        return connection?.cut({ agent: true, gateway: true });
      case "cut, only the agent is told":
        return connection?.cut({ agent: true, gateway: false });
      case "cut, only the gateway is told":
        return connection?.cut({ agent: false, gateway: true });
      case "half-open":
        if (connection) connection.silent = true;
        return;
      case "stall up":
        return connection?.stall("up", dice.within(100, 6000));
      case "stall down":
        return connection?.stall("down", dice.within(100, 6000));
      case "kill thread":
        return app?.thread?.actor.die();
      case "kill thread within an action":
        return app?.thread?.actor.dieAtAction(dice.between(1, 30));
      case "throw in thread":
        return app?.thread?.throws(new Error("planted"));
      case "kill app":
        return app?.main.die();
      case "kill app within an action":
        return app?.main.dieAtAction(dice.between(1, 30));
      case "app's machine is gone":
        if (app?.thread) silence(app.thread.actor);
        return app?.main.die();
      case "kill gateway":
        return gateway?.actor.die();
      case "kill gateway within an action":
        return gateway?.actor.dieAtAction(dice.between(1, 60));
      case "gateway's machine is gone":
        if (gateway) silence(gateway.actor);
        return gateway?.actor.die();
      case "block main":
        return app?.main.freeze(dice.within(100, 6000));
      case "pause app":
        return app?.freeze(dice.within(100, 6000));
      case "pause gateway":
        return gateway?.actor.freeze(dice.within(100, 6000));
      case "drain gateway":
        return gateway?.stop();
      case "close app":
        return app?.close();
      case "close app and kill its thread":
        app?.close();
        app?.thread?.actor.dieAtAction(dice.between(1, 10));
        return;
      case "clock of app jumps":
        if (app) app.main.wallOffsetMs += jump;
        if (app?.thread) app.thread.actor.wallOffsetMs += jump;
        return;
      case "clock of gateway jumps":
        if (gateway) gateway.actor.wallOffsetMs += jump;
        return;
      case "cancel run":
        return this.#cancel(dice);
    }
  }

  #cancel(dice: Dice): void {
    const live = [...this.tables.runs.values()].filter(({ head }) => head.endedMs === null);
    const up = this.gateways.filter((gateway) => gateway.isUp);
    if (live.length === 0 || up.length === 0) return;
    const { id } = dice.pick(live).head;
    const gateway = dice.pick(up);
    this.cancelled.add(id);
    gateway.actor.soon(() => void gateway.core.engine.cancel(id, "asked for").catch(() => {}));
  }
}
