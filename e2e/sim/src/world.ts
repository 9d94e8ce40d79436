/** Everything of one schedule, joined: actors, network, database, adversaries, oracles. `schedule.ts` plays it. */

import { environmentOf, plainName } from "@holdfast/store";
import {
  decodeGatewayFrame,
  decodeWorkerFrame,
  type Extension,
  frameKind,
} from "../../../packages/protocol/src/index.ts";
import { type Adversary, type Against, pickAdversaries } from "./adversaries.ts";
import { AppNode, type AppPlan, type AppWorld } from "./app.ts";
import { applyFault, type FaultyWorld } from "./apply-fault.ts";
import { BodyMoments } from "./body-moments.ts";
import { Callers, type CallersWorld } from "./callers.ts";
import { type Awaited, Clients, type ClientWorld } from "./clients.ts";
import { CALM_STORE, type StoreConditions } from "./database/store-conditions.ts";
import { Tables } from "./database/tables.ts";
import { WakeChannel } from "./database/wake-channel.ts";
import { Events, TWIN } from "./events.ts";
import type { FaultPlan } from "./faults.ts";
import { planFaults } from "./faults.ts";
import { FlowOracle, type FlowWorld } from "./flow-oracle.ts";
import { fillSockets } from "./full-sockets.ts";
import { GatewayNode, type GatewayWorld } from "./gateway.ts";
import { GatewayCalls } from "./gateway-calls.ts";
import { Impostor, type ImpostorWorld } from "./impostor.ts";
import { answerLate } from "./late-answers.ts";
import { type LateFunction, planLateFunction, sendToFailing, sendToLateFunction } from "./late-function.ts";
import { LateMoments } from "./late-moments.ts";
import { extensionsOf, LookAheadMoments } from "./look-ahead-moments.ts";
import { CALM, type Connection, GATEWAY_EXECUTOR_REQUEST, Network } from "./network.ts";
import { Operators, type OperatorsWorld } from "./operators.ts";
import { Oracle } from "./oracle.ts";
import { Pauses, type PausesWorld } from "./pauses.ts";
import {
  APP_ID,
  type FunctionPlan,
  randomFunction,
  withChain,
  withEarlyEvent,
  withIsolatedBodies,
  withOptions,
  withRace,
  withThoughts,
  withTimeouts,
} from "./programs.ts";
import { pruneAtRandom } from "./pruning.ts";
import { isToRun, Queues, TAKES_ALL, type Takes } from "./queues.ts";
import { createDice, type Dice } from "./random.ts";
import { type Actor, Scheduler } from "./scheduler.ts";
import { SilentNetwork, type SilentNetworkWorld } from "./silent-network.ts";
import { planSuspensions, type SuspendableWorld, type Suspension, suspend } from "./suspensions.ts";
import type { SimThread } from "./threads.ts";
import type { TraceHash } from "./trace.ts";
import { type WaitingWorld, watchReasons } from "./waiting-oracle.ts";
import { type WatchedWorld, Watchers } from "./watchers.ts";

/** In so many schedules. */
const OPTIONS_RATE = 0.2;
/** Adversaries draw from streams of their own. */
const ADVERSARY_SEED = 1_000_000_007;
const LATER_ADVERSARY_SEED = 2_000_000_011;
const SILENT_NETWORK_SEED = 3_000_000_019;
const LATE_FUNCTION_SEED = 4_000_000_007;
const THOUGHTS_SEED = 5_000_000_029;
const TIMEOUTS_SEED = 7_000_000_003;
const LOOK_AHEAD_SEED = 6_000_000_031;
const QUEUES_SEED = 8_000_000_009;
const POOL_SEED = 9_000_000_011;
const BODIES_SEED = 17_000_000_029;
const LATE_ANSWERS_SEED = 19_000_000_057;
const BODY_MOMENTS_SEED = 20_000_000_089;
const FULL_SOCKETS_SEED = 21_000_000_017;
const LATE_MOMENTS_SEED = 22_000_000_001;
const RACES_SEED = 23_000_000_003;
const HANGS_SEED = 18_000_000_041;
const EARLY_EVENTS_SEED = 10_000_000_019;
const CHAINS_SEED = 11_000_000_003;
const PAUSES_SEED = 12_000_000_017;
const PRUNING_SEED = 13_000_000_027;
const OPERATORS_SEED = 14_000_000_029;
const WATCHERS_SEED = 15_000_000_037;
const CALLERS_SEED = 16_000_000_057;
/** Of apps, and of gateways. */
const OLDER_RATE = 0.1;
/** Longer than a schedule. */
const SLOWEST_NOTICE_MS = 30_000;

/** Everything of one schedule: who is there, what goes wrong, what has to come of it. */
export class World
  implements
    AppWorld,
    GatewayWorld,
    ClientWorld,
    FlowWorld,
    SuspendableWorld,
    FaultyWorld,
    ImpostorWorld,
    SilentNetworkWorld,
    PausesWorld,
    WaitingWorld,
    OperatorsWorld,
    WatchedWorld,
    CallersWorld
{
  readonly adversaries: ReadonlySet<Adversary>;
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly network: Network;
  readonly tables: Tables;
  readonly wakeChannel = new WakeChannel();
  readonly oracle: Oracle;
  readonly calls: GatewayCalls;
  readonly functions: readonly FunctionPlan[];
  readonly threads = new Map<Actor, { readonly app: AppNode; readonly thread: SimThread }>();
  readonly faults: FaultPlan;
  storeConditions: StoreConditions;
  readonly clients: Clients;
  /** Functions ask for more than their steps, and deployments differ. */
  readonly hasOptions: boolean;
  readonly versionPolicy: "prefer" | "strict";
  readonly isPlain: boolean;
  /** Workers offer the extensions; without them a request that is refused is given up when its lease has ended. */
  readonly mayRefuse: boolean;
  readonly gatewayExtensions: () => readonly Extension[];
  #calmMs: number | null = null;
  wakeMs = 0;
  readonly flow: FlowOracle;
  readonly cancelled = new Set<string>();
  suspensions: readonly Suspension[] = [];
  #silentNetwork: SilentNetwork | null = null;
  #bodyMoments: BodyMoments | null = null;
  #lateMoments: LateMoments | null = null;
  apps: AppNode[] = [];
  gateways: GatewayNode[] = [];
  readonly #faultDice: Dice;
  readonly #appPlan: Omit<AppPlan, "version" | "functions" | "environment" | "takes" | "pool" | "bodies">;
  #pool: AppPlan["pool"] = null;
  #bodies: AppPlan["bodies"] = null;
  /** Of the app's first deployment. */
  readonly #first: readonly FunctionPlan[];
  readonly #versions: readonly string[];
  /** The same in a second environment. */
  readonly #twins: readonly FunctionPlan[];
  readonly #later: Dice;
  readonly #events: Events;
  readonly #impostor: Impostor | null;
  readonly #queues: Queues | null;
  readonly #pauses: Pauses | null;
  readonly operators: Operators | null;
  readonly watchers: Watchers | null;
  readonly callers: Callers | null;
  #ending = false;
  #born = 0;

  constructor(seed: number, trace: TraceHash, agreed: Against) {
    const dice = createDice(seed);
    const shape = createDice(dice.fork());
    this.scheduler = new Scheduler(trace);
    this.dice = createDice(dice.fork());
    this.#faultDice = createDice(dice.fork());
    // Most are small: they are quick, and say more clearly what went wrong.
    const isSmall = shape.chance(0.65);
    const faults = planFaults(createDice(dice.fork()), isSmall);
    const against = createDice(seed + ADVERSARY_SEED);
    const quiet = createDice(seed + SILENT_NETWORK_SEED);
    const later = createDice(seed + LATER_ADVERSARY_SEED);
    this.#later = later;
    const ahead = createDice(seed + LOOK_AHEAD_SEED);
    const queues = createDice(seed + QUEUES_SEED);
    const pooled = createDice(seed + POOL_SEED);
    const bodies = createDice(seed + BODIES_SEED);
    const early = createDice(seed + EARLY_EVENTS_SEED);
    const chains = createDice(seed + CHAINS_SEED);
    const pauses = createDice(seed + PAUSES_SEED);
    const pruning = createDice(seed + PRUNING_SEED);
    const operators = createDice(seed + OPERATORS_SEED);
    const watchers = createDice(seed + WATCHERS_SEED);
    const callers = createDice(seed + CALLERS_SEED);
    const lateAnswers = createDice(seed + LATE_ANSWERS_SEED);
    const bodyMoments = createDice(seed + BODY_MOMENTS_SEED);
    const fullSockets = createDice(seed + FULL_SOCKETS_SEED);
    const lateMoments = createDice(seed + LATE_MOMENTS_SEED);
    const races = createDice(seed + RACES_SEED);
    const own = {
      silentNetwork: quiet,
      lookAheadMoments: ahead,
      queues,
      poolThreads: pooled,
      poolBodies: bodies,
      earlyEvents: early,
      chains,
      pauses,
      pruning,
      operators,
      watchers,
      callers,
      lateAnswers,
      bodyMoments,
      fullSockets,
      lateMoments,
      races,
    };
    const adversaries = pickAdversaries(against, later, own, agreed);
    this.adversaries = adversaries;
    this.gatewayExtensions = () => extensionsOf(ahead, OLDER_RATE);
    this.isPlain = adversaries.has("plainPeer");
    // Those that are gentle are about what must not be lost at all.
    const isNetworkSilent = adversaries.has("silentNetwork") && !faults.isGentle;
    // In every other one nothing else hides what comes of them.
    this.faults = isNetworkSilent && quiet.chance(0.5) ? { ...faults, timed: [] } : faults;
    this.network = new Network(this.scheduler, createDice(dice.fork()), this.faults.network);
    this.storeConditions = this.faults.store;
    this.tables = new Tables(() => this.scheduler.nowMs);
    this.oracle = new Oracle(this.scheduler, this.tables);
    this.calls = new GatewayCalls(this.network, () => this.gateways);
    const clientSeed = dice.fork();
    this.#appPlan = {
      extensions: shape.chance(0.65) && !this.isPlain ? extensionsOf(ahead, OLDER_RATE) : [],
      maxWorkerConcurrency: shape.pick([1, 2, 5, 100]),
      outboxCount: shape.pick([2, 10, 1000]),
      drainTimeoutMs: shape.pick([0, 500, 3000]),
      stall: {
        thresholdMs: shape.pick([null, 1000]),
        // Then leases of a main that is stalled are given up on purpose.
        maxStallMs: this.faults.isGentle ? null : shape.pick([null, null, 2500]),
        noStack: null,
      },
    };
    this.mayRefuse = this.#appPlan.extensions.length > 0;
    this.oracle.canTellWorkers = this.mayRefuse;
    // Where leases are given up over a block, a function that always blocks for longer would never end.
    const mayBlock = this.faults.mayBlock && this.#appPlan.stall.maxStallMs === null;
    const functions = Array.from({ length: shape.between(1, 3) }, (_, i) => randomFunction(shape, i, mayBlock));
    const optionsDice = createDice(dice.fork());
    this.clients = new Clients(this, clientSeed, optionsDice.fork());
    this.hasOptions = optionsDice.chance(OPTIONS_RATE);
    const thoughts = createDice(seed + THOUGHTS_SEED);
    const timeouts = createDice(seed + TIMEOUTS_SEED);
    const first = functions
      .map((plan) => (this.hasOptions && optionsDice.chance(0.6) ? withOptions(plan, optionsDice) : plan))
      .map((plan) => withThoughts(plan, thoughts))
      .map((plan) => withTimeouts(plan, timeouts));
    // Without the extensions an event that comes before a wait does not count.
    if (adversaries.has("earlyEvents") && this.mayRefuse) {
      for (const [i, plan] of first.entries()) first[i] = withEarlyEvent(plan, early);
    }
    if (adversaries.has("races")) for (const [i, plan] of first.entries()) first[i] = withRace(plan, races);
    if (adversaries.has("chains") && this.mayRefuse) {
      for (const [i, plan] of first.entries()) first[i] = withChain(plan, chains);
    }
    const hasMoments = adversaries.has("bodyMoments") && !faults.isGentle;
    if (adversaries.has("poolBodies") || hasMoments) {
      for (const [i, plan] of first.entries()) first[i] = withIsolatedBodies(plan, bodies);
      this.#bodies = this.#planBodies(bodies);
    }
    const hasOperators = adversaries.has("operators") && !this.hasOptions;
    const hasVersions = (this.hasOptions && optionsDice.chance(0.3)) || (hasOperators && operators.chance(0.3));
    this.#versions = hasVersions ? ["1", "2"] : [""];
    // Which of several versions is the newest is another question.
    const hasLateFunction = adversaries.has("staleCaches") && this.#versions.length === 1;
    const late = createDice(seed + LATE_FUNCTION_SEED);
    const lateFunction = hasLateFunction ? planLateFunction(against, late, first.length, this.faults.windowMs) : null;
    this.#first = lateFunction?.failing ? [...first, lateFunction.failing] : first;
    this.#twins = adversaries.has("environments") ? first.map((plan) => ({ ...plan, environment: TWIN })) : [];
    this.#events = new Events(this.clients, first, this.faults.windowMs, this.#twins.length > 0 ? later : null);
    this.functions = [...this.#first, ...(lateFunction ? [lateFunction.plan] : []), ...this.#twins];
    this.#impostor = adversaries.has("impostors") ? new Impostor(this, later.fork()) : null;
    if (adversaries.has("poolThreads")) this.#isolate(pooled, createDice(seed + HANGS_SEED));
    this.#watch();
    if (adversaries.has("lookAheadMoments") && !faults.isGentle) {
      const moments = new LookAheadMoments(this, createDice(ahead.fork()));
      this.oracle.onLookAhead = () => moments.onLookAhead();
    }
    // Who offers no extensions runs whatever it has.
    this.#queues = adversaries.has("queues") && this.mayRefuse ? new Queues(queues) : null;
    this.versionPolicy = this.hasOptions && optionsDice.chance(0.7) ? "strict" : "prefer";
    this.flow = new FlowOracle(this);
    // When runs of functions with options may start is another question.
    this.#pauses = adversaries.has("pauses") && !this.hasOptions ? new Pauses(this, pauses, faults.windowMs) : null;
    this.#arrange(shape, isSmall);
    watchReasons(this);
    if (this.hasOptions) this.#events.planOptions(optionsDice);
    if (adversaries.has("staleCaches")) this.#distrustCaches(lateFunction, against, late);
    if (adversaries.has("suspensions")) this.#suspend(against);
    if (isNetworkSilent) this.#silence(quiet, mayBlock);
    if (adversaries.has("pruning")) pruneAtRandom(this, pruning);
    // What becomes of runs that flow control holds back is another question.
    this.operators = hasOperators ? new Operators(this, operators) : null;
    this.watchers = adversaries.has("watchers") ? new Watchers(this, watchers) : null;
    if (adversaries.has("lateAnswers") && !faults.isGentle) answerLate(this, lateAnswers, this.faults.windowMs);
    if (hasMoments) {
      this.#bodyMoments = new BodyMoments(this, bodyMoments);
      this.#startAnother(bodyMoments);
    }
    if (adversaries.has("fullSockets")) fillSockets(this, fullSockets, this.faults.windowMs);
    if (adversaries.has("lateMoments") && !faults.isGentle) {
      this.#lateMoments = new LateMoments(this, lateMoments, mayBlock);
      this.#startAnother(lateMoments);
      this.scheduler.after(lateMoments.within(0, 200), null, () => this.#startGateway());
    }
    this.callers = adversaries.has("callers") && !this.hasOptions ? new Callers(this, callers) : null;
  }

  /** From now on nothing goes wrong; what is missing comes back. */
  calm(): void {
    this.#calmMs = this.scheduler.nowMs;
    this.#impostor?.end();
    this.#pauses?.calm();
    this.operators?.calm();
    for (const { actor } of this.liveGateways) actor.spare();
    for (const { main, thread } of this.liveApps) {
      main.spare();
      thread?.actor.spare();
    }
    this.network.conditions = CALM;
    this.storeConditions = CALM_STORE;
    this.scheduler.trace.note(this.scheduler.nowMs, "world", "calm");
  }

  bodyAsked(app: AppNode): void {
    this.#bodyMoments?.onAsked(app);
  }

  hears(awaited: Awaited): void {
    this.clients.hears(awaited);
  }

  /** No one is started again any more. */
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

  connected(version: string, functionId: string): readonly Connection[] {
    const [environment, slug] = [environmentOf(functionId), plainName(functionId)];
    const listed = this.tables.registry.connections().filter(({ status }) => status === "READY");
    return this.network.connections.filter(({ worker, announced, alive, silent }) => {
      const app = this.threads.get(worker.actor)?.app;
      if (app?.plan.version !== version || app.plan.environment !== environment) return false;
      if (!isToRun(slug, app.plan.functions, app.plan.takes)) return false;
      if (announced?.as !== "ready") return false;
      return alive && !silent && listed.some(({ instanceId }) => instanceId === app.name);
    });
  }

  /** Since when nothing goes wrong any more and all are awake; null while something may. */
  get calmMs(): number | null {
    return this.#calmMs === null ? null : Math.max(this.#calmMs, this.wakeMs);
  }

  /** Notifications come late or never, functions come with another deployment, and events go to whatever gateway is there. */
  #distrustCaches(lateFunction: LateFunction | null, dice: Dice, own: Dice): void {
    this.clients.sendsToAny = true;
    this.wakeChannel.slowness = () =>
      this.isCalm ? undefined : dice.chance(0.5) ? null : dice.within(0, SLOWEST_NOTICE_MS);
    if (!lateFunction) return;
    sendToLateFunction(lateFunction, this.clients, dice);
    sendToFailing(lateFunction, this.clients, own);
    const start = (): void => {
      const isFirstThere = this.tables.registry.all().some(({ appId }) => appId === APP_ID);
      if (isFirstThere) this.#startApp("", [...this.#firstOf(""), lateFunction.plan]);
      else this.scheduler.after(100, null, start);
    };
    this.scheduler.at(lateFunction.atMs, null, start);
  }

  /** Some functions run in threads of a pool, which die. */
  #isolate(dice: Dice, hangs: Dice): void {
    const ids = this.#first.map(({ id }) => id).filter(() => dice.chance(0.7));
    const functionIds = ids.length > 0 ? ids : this.#first.slice(0, 1).map(({ id }) => id);
    this.#pool = { threads: dice.pick([1, 1, 2, 3]), functionIds };
    // Those schedules are about what must not be lost at all.
    const deaths = this.faults.isGentle ? 0 : dice.between(0, 5);
    for (let count = this.faults.isGentle ? 0 : hangs.between(0, 2); count > 0; count -= 1) {
      this.scheduler.at(hangs.within(0, this.faults.windowMs), null, () => {
        const pools = this.liveApps.flatMap(({ pool }) => pool ?? []);
        if (pools.length > 0) hangs.pick(pools).hang(hangs);
      });
    }
    for (let count = 0; count < deaths; count += 1) {
      this.scheduler.at(dice.within(0, this.faults.windowMs), null, () => {
        const pools = this.liveApps.flatMap(({ pool }) => pool ?? []);
        if (pools.length === 0) return;
        this.scheduler.trace.note(this.scheduler.nowMs, "fault", "end a pool thread");
        dice.pick(pools).end(dice, dice.chance(0.5));
      });
    }
  }

  /** Some bodies run in threads of a pool, which die or hang. */
  #planBodies(dice: Dice): NonNullable<AppPlan["bodies"]> {
    const deaths = this.faults.isGentle ? 0 : dice.between(0, 6);
    for (let count = 0; count < deaths; count += 1) {
      this.scheduler.at(dice.within(0, this.faults.windowMs), null, () => {
        const pools = this.liveApps.flatMap(({ bodies }) => bodies ?? []);
        if (pools.length === 0) return;
        this.scheduler.trace.note(this.scheduler.nowMs, "fault", "harm a pool thread");
        dice.pick(pools).harm(dice);
      });
    }
    return {
      threads: dice.pick([1, 1, 2, 3]),
      recycleAfter: dice.pick([null, null, 1, 3]),
      idleMs: dice.pick([null, 50, 2_000]),
      loadMs: dice.pick([0, 20, 1_500]),
    };
  }

  #suspend(dice: Dice): void {
    // Those schedules are about what must not be lost at all.
    if (this.faults.isGentle) return;
    this.suspensions = planSuspensions(dice, this.faults.windowMs);
    for (const one of this.suspensions) this.scheduler.at(one.atMs, null, () => suspend(this, one, dice));
  }

  #silence(dice: Dice, mayBlock: boolean): void {
    this.#silentNetwork = new SilentNetwork(this, dice, this.faults.windowMs, mayBlock);
    this.#startAnother(dice);
  }

  /** Who finishes what a worker has that is cut off. */
  #startAnother(dice: Dice): void {
    this.scheduler.after(dice.within(0, 200), null, () => {
      const version = this.#versions[0] ?? "";
      this.#startApp(version, this.#firstOf(version));
    });
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
    this.network.acked = (bytes) => {
      const frame = decodeWorkerFrame(bytes);
      if (frame.kind === "WORKER_REQUEST_ACK") this.oracle.heardOf(frame.requestId);
    };
    this.network.tap = (direction, sender, bytes, connection) => {
      this.#impostor?.sees(direction, bytes, connection);
      const worker = direction === "up" ? sender : connection.worker.actor;
      const app = this.threads.get(worker)?.app;
      if (direction === "up") app?.watch.sends(sender, bytes, connection);
      else {
        app?.watch.isSent(bytes, connection);
        if (frameKind(bytes) === GATEWAY_EXECUTOR_REQUEST) this.#requested(bytes, connection);
      }
    };
  }

  #requested(bytes: Uint8Array, connection: Connection): void {
    const frame = decodeGatewayFrame(bytes);
    if (frame.kind !== "GATEWAY_EXECUTOR_REQUEST") return;
    if (this.isPlain) this.oracle.sentPlainly(frame.requestId);
    const app = this.threads.get(connection.worker.actor)?.app;
    if (app && !isToRun(frame.functionSlug, app.plan.functions, app.plan.takes))
      this.oracle.fail("S47", `${app.name} is given a run of ${frame.functionSlug}.`);
    this.#silentNetwork?.requested(connection);
    this.#lateMoments?.requested(connection);
  }

  #arrange(shape: Dice, isSmall: boolean): void {
    const { scheduler, faults } = this;
    const gateways = isSmall ? shape.pick([1, 1, 2]) : shape.pick([1, 2, 2, 3]);
    const apps = isSmall ? shape.pick([1, 1, 2]) : shape.pick([1, 2, 2, 3]);
    for (let i = 0; i < gateways; i += 1) this.#startGateway();
    for (let i = 0; i < apps; i += 1) {
      const version = this.#versions[i % this.#versions.length] ?? "";
      scheduler.after(shape.within(0, 200), null, () => this.#startWorkers(version));
    }
    this.#events.plan(shape, isSmall ? shape.between(1, 2) : shape.between(2, 6));
    for (const version of this.#twins.length > 0 ? this.#versions : [])
      scheduler.after(this.#later.within(0, 200), null, () => this.#startApp(version, this.#twins));
    for (const { atMs, kind } of faults.timed) scheduler.at(atMs, null, () => applyFault(this, kind, this.#faultDice));
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

  /** Where there are queues, workers that serve all of them together. */
  #startWorkers(version: string): void {
    const functions = this.#firstOf(version);
    if (!this.#queues) return this.#startApp(version, functions);
    for (const takes of this.#queues.workers(functions)) this.#startApp(version, functions, takes);
  }

  #firstOf(version: string): readonly FunctionPlan[] {
    return this.#queues?.inQueues(version, this.#first) ?? this.#first;
  }

  #startApp(version: string, functions: readonly FunctionPlan[], takes: Takes = TAKES_ALL): void {
    if (this.#ending) return;
    this.#born += 1;
    const app = new AppNode(this, `a${this.#born}`, {
      ...this.#appPlan,
      environment: functions[0]?.environment ?? "",
      version,
      functions,
      takes,
      pool: this.#pool,
      bodies: this.#bodies,
    });
    this.apps.push(app);
    app.main.onDeath(() => {
      if (!this.#ending)
        this.scheduler.after(this.dice.within(50, 2000), null, () => this.#startApp(version, functions, takes));
    });
  }
}
