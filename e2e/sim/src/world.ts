import { decodeGatewayFrame } from "../../../packages/protocol/src/index.ts";
import { type Adversary, pickAdversaries } from "./adversaries.ts";
import { AppNode, type AppPlan, type AppWorld } from "./app.ts";
import { GatewayCalls } from "./calls.ts";
import { Clients, type ClientWorld } from "./clients.ts";
import { CALM_STORE, type StoreMood } from "./database/mood.ts";
import { Notices } from "./database/notices.ts";
import { Tables } from "./database/tables.ts";
import { STOP } from "./extras.ts";
import type { FaultKind, FaultPlan } from "./faults.ts";
import { planFaults } from "./faults.ts";
import { FlowOracle, type FlowWorld } from "./flow-oracle.ts";
import { GatewayNode, type GatewayWorld } from "./gateway.ts";
import { CALM, Network } from "./network.ts";
import { Oracle } from "./oracle.ts";
import { type FunctionPlan, type HearBy, randomFunction, withExtras } from "./programs.ts";
import { createDice, type Dice } from "./random.ts";
import { type Actor, Scheduler } from "./scheduler.ts";
import { planSuspensions, type SuspendableWorld, type Suspension, suspend } from "./suspensions.ts";
import type { SimThread } from "./threads.ts";
import type { TraceHash } from "./trace.ts";

/** In so many schedules. */
const EXTRAS_RATE = 0.2;
/** Adversaries draw from streams of their own. */
const ADVERSARY_SEED = 1_000_000_007;
/** Longer than a schedule. */
const SLOWEST_NOTICE_MS = 30_000;
const ALL_EXTENSIONS = ["checkpoint", "nack", "cancel", "stall"] as const;

/** Everything of one schedule: who is there, what goes wrong, what has to come of it. */
export class World implements AppWorld, GatewayWorld, ClientWorld, FlowWorld, SuspendableWorld {
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
  readonly clients: Clients;
  /** Functions ask for more than their steps, and deployments differ. */
  readonly hasExtras: boolean;
  readonly versionPolicy: "prefer" | "strict";
  #calmMs: number | null = null;
  wakeMs = 0;
  readonly flow: FlowOracle;
  readonly cancelled = new Set<string>();
  suspensions: readonly Suspension[] = [];
  apps: AppNode[] = [];
  gateways: GatewayNode[] = [];
  readonly #faultDice: Dice;
  readonly #appPlan: Omit<AppPlan, "version">;
  readonly #versions: readonly string[];
  #ending = false;
  #born = 0;

  constructor(seed: number, trace: TraceHash, always: ReadonlySet<Adversary>) {
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
    const clientSeed = dice.fork();
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
    const functions = Array.from({ length: shape.between(1, 3) }, (_, i) => randomFunction(shape, i, mayBlock));
    const extras = createDice(dice.fork());
    this.clients = new Clients(this, clientSeed, extras.fork());
    this.hasExtras = extras.chance(EXTRAS_RATE);
    this.functions = this.hasExtras
      ? functions.map((plan) => (extras.chance(0.6) ? withExtras(plan, extras) : plan))
      : functions;
    this.#versions = this.hasExtras && extras.chance(0.3) ? ["1", "2"] : [""];
    this.#watch();
    this.versionPolicy = this.hasExtras && extras.chance(0.7) ? "strict" : "prefer";
    this.flow = new FlowOracle(this);
    this.#arrange(shape, isSmall);
    if (this.hasExtras) this.#planExtraEvents(extras);
    this.#arm(createDice(seed + ADVERSARY_SEED), always);
  }

  /** From now on nothing goes wrong; what is missing comes back. */
  calm(): void {
    this.#calmMs = this.scheduler.nowMs;
    this.network.mood = CALM;
    this.storeMood = CALM_STORE;
    this.scheduler.trace.note(this.scheduler.nowMs, "world", "calm");
  }

  hears(by: HearBy, runId: string, name: string): void {
    this.clients.hears(by, runId, name);
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

  get isCalm(): boolean {
    return this.#calmMs !== null;
  }

  /** Since when nothing goes wrong any more and all are awake; null while something may. */
  get calmMs(): number | null {
    return this.#calmMs === null ? null : Math.max(this.#calmMs, this.wakeMs);
  }

  #arm(dice: Dice, always: ReadonlySet<Adversary>): void {
    const adversaries = pickAdversaries(dice, always);
    if (adversaries.has("staleCaches")) {
      this.clients.sendsToAny = true;
      this.notices.slowness = () =>
        this.isCalm ? undefined : dice.chance(0.5) ? null : dice.within(0, SLOWEST_NOTICE_MS);
    }
    // Those schedules are about what must not be lost at all.
    if (!adversaries.has("suspensions") || this.faults.isGentle) return;
    this.oracle.isStrict = true;
    this.suspensions = planSuspensions(dice, this.faults.windowMs);
    for (const one of this.suspensions) this.scheduler.at(one.atMs, null, () => suspend(this, one, dice));
  }

  #watch(): void {
    this.scheduler.onCrash = ({ actor, error }) => {
      const owner = this.threads.get(actor);
      if (owner) owner.thread.throws(error);
      else this.oracle.fail("S17", `${actor.name}: ${(error as Error).stack ?? error}`);
    };
    this.network.late = (bytes) => {
      const frame = decodeGatewayFrame(bytes);
      if (frame.kind === "GATEWAY_EXECUTOR_REQUEST") this.oracle.delayed(frame.requestId);
    };
    this.network.tap = (direction, sender, bytes, connection) => {
      const agent = direction === "up" ? sender : connection.agent.actor;
      const app = this.threads.get(agent)?.app;
      if (direction === "up") app?.watch.sends(sender, bytes, connection);
      else app?.watch.isSent(bytes, connection);
    };
  }

  #arrange(shape: Dice, isSmall: boolean): void {
    const { scheduler, faults } = this;
    const gateways = isSmall ? shape.pick([1, 1, 2]) : shape.pick([1, 2, 2, 3]);
    const apps = isSmall ? shape.pick([1, 1, 2]) : shape.pick([1, 2, 2, 3]);
    for (let i = 0; i < gateways; i += 1) this.#startGateway();
    for (let i = 0; i < apps; i += 1) {
      const version = this.#versions[i % this.#versions.length] ?? "";
      scheduler.after(shape.within(0, 200), null, () => this.#startApp(version));
    }
    const events = isSmall ? shape.between(1, 2) : shape.between(2, 6);
    for (let i = 0; i < events; i += 1) {
      const entropy = entropyOf(shape);
      const name = `sim/${shape.pick(this.functions).id}`;
      const atMs = shape.within(300, Math.max(400, faults.windowMs * 0.8));
      this.clients.plan(entropy, atMs, { name, data: { from: "somebody" } });
    }
    for (const { atMs, kind } of faults.timed) scheduler.at(atMs, null, () => this.#apply(kind));
  }

  /** Several for each function that has something between events and runs, some of them to start runs later. */
  #planExtraEvents(dice: Dice): void {
    const anyMs = (): number => dice.within(300, Math.max(400, this.faults.windowMs * 0.8));
    for (const { id, extras } of this.functions) {
      const periodMs = "periodMs" in extras.hold ? extras.hold.periodMs : 1000;
      let lastMs = anyMs();
      // Often just when something is over that an event before it began.
      const atMs = (): number => {
        lastMs = dice.chance(0.4) ? lastMs + Math.max(0, periodMs + dice.within(-50, 50)) : anyMs();
        return lastMs;
      };
      const count = extras.hold.type === "none" ? dice.between(0, 1) : dice.between(2, 4);
      for (let i = 0; i < count; i += 1) {
        const ahead = dice.chance(0.15) ? { aheadMs: dice.within(0, 3000) } : {};
        const data = { from: "somebody", key: dice.pick(["x", "x", "y"]) };
        this.clients.plan(entropyOf(dice), atMs(), { name: `sim/${id}`, data, ...ahead });
      }
      if (extras.cancelOn && dice.chance(0.6)) {
        this.clients.plan(entropyOf(dice), atMs(), { name: STOP, data: { key: "x" } });
      }
    }
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

  #startApp(version: string): void {
    if (this.#ending) return;
    this.#born += 1;
    const app = new AppNode(this, `a${this.#born}`, { ...this.#appPlan, version });
    this.apps.push(app);
    app.main.onDeath(() => {
      if (!this.#ending) this.scheduler.after(this.dice.within(50, 2000), null, () => this.#startApp(version));
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

const entropyOf = (dice: Dice): Uint8Array => Uint8Array.from({ length: 10 }, () => dice.between(0, 255));
