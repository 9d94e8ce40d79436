/** A process of the app under simulation: the SDK's real connection, over simulated threads and sockets. */
import type { RawEvent } from "../../../gateway-mock/src/dispatch/events/event-checks.ts";
import { hashSigningKey } from "../../../gateway-mock/src/http/keys.ts";
import type { Log } from "../../../packages/core/src/index.ts";
import type { Extension } from "../../../packages/protocol/src/index.ts";
import { Holdfast } from "../../../packages/sdk/src/app/holdfast.ts";
import type { Connection } from "../../../packages/sdk/src/connection/main/connection.ts";
import { openConnection } from "../../../packages/sdk/src/connection/main/open-connection.ts";
import type { AnyMessage } from "../../../packages/sdk/src/connection/shared/messages.ts";
import type { SerializableConfig } from "../../../packages/sdk/src/connection/shared/serializable-config.ts";
import type { StallPolicy } from "../../../packages/sdk/src/connection/shared/stall.ts";
import { createInspectorSessions } from "../../../packages/sdk/src/connection/thread/inspector-sessions.ts";
import { runThread } from "../../../packages/sdk/src/connection/thread/run-thread.ts";
import type { StallPorts } from "../../../packages/sdk/src/connection/thread/stall-watch.ts";
import type { ExecutionStrategy } from "../../../packages/sdk/src/execution/execution.ts";
import { FairTurns, type Turns } from "../../../packages/sdk/src/execution/fair-turns.ts";
import { createMainThreadStrategy } from "../../../packages/sdk/src/execution/main-thread.ts";
import type { AppClient } from "../../../packages/sdk/src/functions/app-client.ts";
import type { HoldfastFunction } from "../../../packages/sdk/src/functions/define-function.ts";
import { type AppInput, appManifest, createRegistry } from "../../../packages/sdk/src/functions/registry.ts";
import { SDK_NAME } from "../../../packages/sdk/src/version.ts";
import { type BodyPoolPlan, SimBodyPool } from "./body-pool.ts";
import type { Awaited } from "./clients.ts";
import { SIGNING_KEY } from "./gateway.ts";
import type { GatewayCalls } from "./gateway-calls.ts";
import { defineFunction } from "./handler.ts";
import type { Network } from "./network.ts";
import type { Oracle } from "./oracle.ts";
import { SimPool } from "./pool.ts";
import { ProcessWatch } from "./process-watch.ts";
import { APP_ID, type FunctionPlan } from "./programs.ts";
import type { Takes } from "./queues.ts";
import { createDice, type Dice } from "./random.ts";
import { Actor, type Scheduler } from "./scheduler.ts";
import { SimPort } from "./sim-port.ts";
import { SimThread } from "./threads.ts";

const START_MS = 4;

export interface AppPlan {
  readonly extensions: readonly Extension[];
  readonly maxWorkerConcurrency: number;
  readonly outboxCount: number;
  readonly drainTimeoutMs: number;
  readonly stall: StallPolicy;
  /** How many threads run the handlers of which functions. */
  readonly pool: { readonly threads: number; readonly functionIds: readonly string[] } | null;
  /** The pool for bodies of steps. */
  readonly bodies: BodyPoolPlan | null;
  /** Of this deployment. */
  readonly functions: readonly FunctionPlan[];
  readonly environment: string;
  /** Of the app; "" = it does not say. */
  readonly version: string;
  readonly takes: Takes;
}

export interface AppWorld {
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly oracle: Oracle;
  readonly dice: Dice;
  readonly calls: GatewayCalls;
  /** A run waits for what someone outside has to send. */
  hears(awaited: Awaited): void;
  /** A body is given to the app's pool. */
  bodyAsked(app: AppNode): void;
  /** Which process and thread an actor is. */
  readonly threads: Map<Actor, { readonly app: AppNode; readonly thread: SimThread }>;
}

/** What `close()` promises on top of the drain. */
const CLOSE_GRACE_MS = 1_000;
/** Longer than a thread of the pool takes to end. */
const END_MS = 100;
const BACKOFF = { baseMs: 50, factor: 2, maxMs: 1000, jitter: 0.5 } as const;
const MIN_UPTIME_MS = 2_000;
export const MAX_CRASHES = 10;

/** A process of the app: the real connection over simulated threads. */
export class AppNode {
  readonly name: string;
  readonly main: Actor;
  readonly watch: ProcessWatch;
  readonly plan: AppPlan;
  connection: Connection | null = null;
  thread: SimThread | null = null;
  pool: SimPool | null = null;
  bodies: SimBodyPool | null = null;
  /** Shutdown was asked for. */
  closing = false;
  readonly #world: AppWorld;
  #threads = 0;

  constructor(world: AppWorld, name: string, plan: AppPlan) {
    this.#world = world;
    this.name = name;
    this.plan = plan;
    this.main = new Actor(world.scheduler, name, world.dice.fork());
    this.watch = new ProcessWatch(world.oracle, name, plan);
    this.main.soon(() => void this.#open());
  }

  get isUp(): boolean {
    return this.main.alive && this.connection !== null && !this.closing;
  }

  get poolActors(): readonly Actor[] {
    return [...(this.pool?.actors ?? []), ...(this.bodies?.actors ?? [])];
  }

  /** What `close()` is: it must end in time. */
  close(): void {
    if (this.closing || !this.connection) return;
    this.closing = true;
    const { scheduler } = this.#world;
    const { main } = this;
    main.soon(() => {
      const [beganMs, frozenMs] = [scheduler.nowMs, main.frozenMs];
      scheduler.trace.note(beganMs, this.name, "close()");
      void this.connection?.close().then(() => this.#closed(beganMs, frozenMs));
      const check = (): void => {
        if (!main.alive) return;
        const boundMs = this.plan.drainTimeoutMs + CLOSE_GRACE_MS + main.frozenMs - frozenMs;
        const leftMs = beganMs + boundMs - scheduler.nowMs;
        if (leftMs > 0) scheduler.after(leftMs + 1, null, check);
        else this.#world.oracle.fail("S12", `${this.name} is not closed after ${Math.round(boundMs)} ms.`);
      };
      scheduler.after(1, null, check);
    });
  }

  freeze(ms: number): void {
    this.main.freeze(ms);
    this.thread?.actor.freeze(ms);
    for (const actor of this.poolActors) actor.freeze(ms);
  }

  #closed(beganMs: number, frozenMs: number): void {
    const { scheduler, oracle } = this.#world;
    const { main } = this;
    scheduler.trace.note(scheduler.nowMs, this.name, "closed");
    const closedMs = scheduler.nowMs - beganMs;
    const tookMs = closedMs - (main.frozenMs - frozenMs);
    const boundMs = this.plan.drainTimeoutMs + CLOSE_GRACE_MS;
    const kept = this.plan.extensions.includes("nack") ? this.watch.notHandedBack : [];
    if (kept.length > 0) oracle.fail("S20", `${this.name} kept ${kept.join(", ")}.`);
    if (tookMs > boundMs) oracle.fail("S12", `${this.name} took ${Math.round(tookMs)} ms.`);
    // What is cleaned up behind it has its turn first.
    scheduler.after(0, main, () => {
      if (this.thread?.actor.alive && this.thread.isRef) oracle.fail("S13", `${this.name}: its thread lives.`);
      // What native code holds is left behind, and so is what had no time any more to end: close() goes by the clock,
      // which goes on while main is blocked.
      if (closedMs < boundMs - END_MS && this.bodies?.isRunning)
        oracle.fail("S13", `${this.name}: a thread of its pool lives.`);
      const state = this.connection?.debugState();
      const handlers = state?.runningHandlers ?? 0;
      // A handler that never saw its end may have timers of its own.
      if (main.pending.size > 0 && handlers === 0) oracle.fail("S13", `${this.name} has ${main.pending.size} timers.`);
      main.die();
    });
  }

  async #open(): Promise<void> {
    const { main, plan } = this;
    const { clock, timers, random } = main;
    const { pool, bodies } = plan;
    const onAsked = (): void => this.#world.bodyAsked(this);
    if (bodies !== null) this.bodies = new SimBodyPool(main, createDice(this.#world.dice.fork()), bodies, onAsked);
    const isolation = this.bodies ?? undefined;
    const app = this.#appOn(main, this.bodies);
    if (pool !== null) this.pool = this.#startPool(pool.threads);
    try {
      this.connection = await openConnection({
        config: this.#config(appManifest(app.client, app.functions)),
        strategy: this.#watched(
          createMainThreadStrategy(createRegistry([app]), {
            ...{ clock, timers, turns: this.#turns() },
            ...(isolation ? { isolation } : {}),
          }),
          main,
        ),
        ...(isolation ? { isolation } : {}),
        ...(this.pool === null ? {} : { pool: this.pool }),
        startThread: () => this.#startThread() as never,
        respawn: { ...BACKOFF, maxCrashes: MAX_CRASHES, minUptimeMs: MIN_UPTIME_MS },
        connectTimeoutMs: 20_000,
        drainTimeoutMs: plan.drainTimeoutMs,
        signals: [],
        log: this.#log,
        clock,
        timers,
        random,
      });
      this.connection.closed.catch(() => main.die());
    } catch (error) {
      // Nothing may be left of it; whoever runs the app starts it again.
      this.#world.scheduler.trace.note(this.#world.scheduler.nowMs, this.name, "cannot connect");
      if (this.thread?.actor.alive && this.thread.isRef)
        this.#world.oracle.fail("S13", `${this.name}: ${(error as Error).message}`);
      main.die();
    }
  }

  /** The app's functions, as they run on a thread of it. */
  #appOn(actor: Actor, bodies: SimBodyPool | null = null): AppInput {
    const { plan } = this;
    const { calls, oracle } = this.#world;
    const hears = (awaited: Awaited): void => this.#world.hears(awaited);
    const version = plan.version === "" ? {} : { appVersion: plan.version };
    const client = new Holdfast({ id: APP_ID, isDev: true, logLevel: "off", ...version }, {});
    const refused = (): Promise<never> => Promise.reject(new Error("Not a part of this simulation."));
    const sendEvents = (events: readonly RawEvent[]): Promise<{ ids: string[] }> =>
      calls.sendEvents(actor, events, plan.environment);
    const clientLike: AppClient = {
      options: client.options,
      schemas: undefined,
      sendEvents,
      sendSignal: refused,
      fetchRunState: refused,
    };
    const functions: HoldfastFunction[] = [];
    for (const fn of plan.functions)
      functions.push(defineFunction(client, fn, functions, { main: actor, oracle, hears, bodies }));
    return { client: clientLike, functions };
  }

  #startPool(threads: number): SimPool {
    const { main } = this;
    return new SimPool({
      main,
      threads,
      dice: createDice(this.#world.dice.fork()),
      strategyOf: (actor, watch) => {
        const registry = createRegistry([this.#appOn(actor)]);
        const { clock } = main;
        return this.#watched(createMainThreadStrategy(registry, { clock, timers: actor.timers, watch }), actor);
      },
    });
  }

  /** Each start uses some of its turn, or nothing would ever wait for the next: code takes no time here. */
  #turns(): Turns {
    let startedMs = 0;
    const monotonicMs = (): number => {
      startedMs += START_MS;
      return startedMs;
    };
    return new FairTurns({ monotonicMs, nextTurn: (begin) => setImmediate(begin) }).limitedTo(10);
  }

  readonly #log: Log = (level, message, data) => {
    const { trace } = this.#world.scheduler;
    if (!trace.lines || level === "debug") return;
    trace.lines.push(`${" ".repeat(11)}${this.name} logs ${level}: ${message} ${data ? JSON.stringify(data) : ""}`);
  };

  #config(manifest: SerializableConfig["apps"][number]): SerializableConfig {
    const { plan } = this;
    return {
      apiBaseUrl: "http://gateways",
      ...(plan.environment === "" ? {} : { envName: plan.environment }),
      hashedSigningKey: hashSigningKey(SIGNING_KEY),
      apps: [manifest],
      isolated: (plan.pool?.functionIds ?? []).map((id) => ({ appName: APP_ID, functionSlug: `${APP_ID}-${id}` })),
      instanceId: this.name,
      maxWorkerConcurrency: plan.maxWorkerConcurrency,
      ...plan.takes,
      required: [],
      extensions: plan.extensions,
      sdkVersion: SDK_NAME,
      startedAtMs: 0,
      system: { cpuCores: 1, memBytes: 1, os: "sim" },
      outbox: { maxCount: plan.outboxCount, maxBytes: 1_000_000, ackMs: 1500 },
      reconnect: BACKOFF,
      minUptimeMs: MIN_UPTIME_MS,
      openMs: 3000,
      httpMs: 2000,
      debugMs: 30_000,
      stall: plan.stall,
    };
  }

  #startThread(): SimThread {
    const { scheduler, dice, network, calls, threads } = this.#world;
    const { main, watch } = this;
    this.#threads += 1;
    const actor = new Actor(scheduler, `${this.name}.t${this.#threads}`, dice.fork());
    const thread = new SimThread(main, actor, dice, {
      posted: (message) => watch.posted(actor, message as AnyMessage),
      sent: (message) => watch.sent(message as AnyMessage),
      arrived: (message) => watch.arrived(actor, message as AnyMessage),
    });
    threads.set(actor, { app: this, thread });
    main.onDeath(() => actor.die());
    actor.onDeath(() => {
      if (!thread.hasExited) watch.killed(actor);
    });
    this.thread = thread;
    thread.boot(dice.within(2, 40), () => {
      runThread(thread.parentPort as never, {
        // Threads of a process share its clocks.
        clock: main.clock,
        timers: actor.timers,
        random: actor.random,
        post: (url, call) => calls.post(actor, url, call),
        openWebSocket: (url, _subprotocol, options) =>
          network.connect(actor, url, options.handshakeTimeout ?? 10_000) as never,
        stalls: this.#stallPorts(),
        listenToSignals: () => () => {},
        readProcess: () => ({
          pid: 1,
          rssBytes: 1,
          cpuMs: main.clock.monotonicMs(),
          uptimeMs: main.clock.monotonicMs(),
        }),
        drainPort: (port: object) => (port instanceof SimPort ? port.drain() : []),
        exit: thread.exit,
      });
    });
    return thread;
  }

  /** Main's stack can be asked for or not, as with the real debugger; what is in it is no matter here. */
  #stallPorts(): StallPorts {
    const { dice } = this.#world;
    return {
      emergency: { write: () => {} },
      maps: { map: () => Promise.resolve([]) },
      mainCpu: () => ({ restart: () => {}, readWaitedMs: () => (dice.chance(0.5) ? null : dice.within(0, 1_000)) }),
      inspectorSessions: createInspectorSessions(),
      capture: (timers, handlers) => {
        const answers = dice.chance(0.7);
        const timer = timers.set(dice.within(1, 800), () => {
          if (answers) handlers.onSnapshot({ frames: [], execution: null });
          else handlers.onFailed("The debugger does not answer.");
          handlers.onDisconnected();
        });
        const cancel = (): void => {
          timer.cancel();
          handlers.onDisconnected();
        };
        return { stopped: false, cancel };
      },
    };
  }

  #watched(strategy: ExecutionStrategy, actor: Actor): ExecutionStrategy {
    const { oracle } = this.#world;
    return {
      ...strategy,
      execute: async (request, port, signal) => {
        const { requestId, runId } = request;
        // A pool thread dies alone, in the middle of its code: what comes after that is not executed.
        if (!actor.alive) return new Promise(() => {});
        oracle.executes(requestId, this.name, this.plan);
        const checkpoint = async (ops: Uint8Array) => {
          const outcome = await port.checkpoint(ops);
          if (outcome === "stored" && actor.alive) oracle.checkpointStored(runId, ops);
          return outcome;
        };
        const result = await strategy.execute(
          request,
          { checkpoint, whenConfirmed: () => port.whenConfirmed?.() },
          signal,
        );
        if (!result.stale && actor.alive) oracle.replies(requestId, runId, result);
        return result;
      },
    };
  }
}
