import { type Clock, seededRandom, silentLog, type Timers } from "@holdfast/core";
import type { Wake } from "@holdfast/store";
import { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import { DEFAULT_DISPATCHER_SETTINGS } from "../../src/dispatch/ports.ts";
import type { WorkerSession } from "../../src/dispatch/workers/connected-worker.ts";
import type { openPostgresStore } from "../../src/store-postgres/index.ts";
import { FOCUSES, type Focus, STEPS, type Trouble, USUAL } from "./focus.ts";
import { type HeldStore, heldStore } from "./held-store.ts";
import { Interleaver } from "./interleaver.ts";
import { Witness } from "./witness.ts";
import { type Program, Worker } from "./worker.ts";

type RealStore = ReturnType<typeof openPostgresStore>;

export interface Ground {
  readonly store: RealStore;
  /** Ends every lease: as if it had not been extended. */
  endLeases(): Promise<unknown>;
}

export interface Played {
  readonly runIds: readonly string[];
  readonly broken: readonly string[];
  readonly trace: readonly string[];
}

interface Gateway {
  readonly name: string;
  readonly dispatcher: Dispatcher;
  readonly held: HeldStore;
  alive: boolean;
}

const MOVES = 80;
/** The run has begun by then. */
const FIRST = 5;
const MS_PER_MOVE = 20;
const ROUNDS = 30;
const MINUTES = 60_000;
/** Nothing is looked for by time: each look is a move. */
const noTimers: Timers = { set: () => ({ cancel: () => {} }) };

/** One schedule: some gateways and workers, a run of some waits, and what may happen to it, in an order that the seed decides. */
export class Schedule {
  readonly #interleaver: Interleaver;
  readonly #ground: Ground;
  readonly #seed: number;
  readonly #witness = new Witness();
  readonly #gateways: Gateway[] = [];
  readonly #workers: Worker[] = [];
  readonly #program: Program;
  readonly #focus: Focus;
  readonly #apps: WorkerSession["apps"];
  readonly #startMs = Date.now();
  #restedMs = 0;
  /** What is to happen at which move. */
  readonly #plan: { readonly at: number; readonly what: string; readonly act: () => unknown }[] = [];

  constructor(seed: number, ground: Ground) {
    this.#seed = seed;
    this.#ground = ground;
    this.#interleaver = new Interleaver(seed);
    const chance = (part: number): boolean => this.#interleaver.chance(part);
    this.#focus = this.#interleaver.pick(FOCUSES);
    const must = this.#interleaver.pick(STEPS);
    const steps = STEPS.filter((step) => chance(this.#focus.steps[step] ?? 0.3) || step === must);
    this.#program = { steps, early: chance(0.5), signal: `go ${seed}` };
    const deadline = chance(this.#focus.deadline ?? 0.2);
    this.#apps = [appOf(seed, { cancelOn: chance(0.3), deadline, finish: chance(0.1) })];
  }

  async play(): Promise<Played> {
    await this.#open();
    this.#plan.sort((a, b) => a.at - b.at);
    try {
      for (let count = 0; count < MOVES || this.#plan.length > 0; count++) {
        while (this.#plan[0] && this.#plan[0].at <= count) {
          const planned = this.#plan.shift();
          if (planned) this.#interleaver.add(planned.what, () => void planned.act());
        }
        await this.#interleaver.next("random");
      }
      await this.#settle(() => false);
      this.#witness.checkEvents();
      let over = false;
      // What begins to wait only now is waited for as well.
      for (let times = 0; times < 4 && !over; times++) {
        await this.#skip(120);
        over = await this.#settle(() => this.#allEnded());
      }
      if (!over) this.#witness.broken.push(await this.#leftOver());
      else await this.#witness.checkEnds(this.#ground.store);
    } finally {
      for (const { held } of this.#gateways) held.kill();
    }
    const { broken, runIds } = this.#witness;
    const about = `${JSON.stringify(this.#program)} ${this.#apps[0]?.functions[0]?.configJson}`;
    return { broken, runIds, trace: [about, ...this.#interleaver.trace] };
  }

  async #open(): Promise<void> {
    const interleaver = this.#interleaver;
    const inPlace = interleaver.chance(0.7);
    const hooks = {
      given: this.#witness.given.bind(this.#witness),
      ran: this.#witness.ran.bind(this.#witness),
    };
    const count = interleaver.chance(0.3) ? 3 : 2;
    for (let index = 0; index < count; index++) {
      const gateway = this.#gateway(index);
      this.#gateways.push(gateway);
      await this.#driven(gateway.dispatcher.start());
    }
    await this.#driven(this.#gateways[0]?.dispatcher.register(this.#apps) ?? Promise.resolve());
    for (const { dispatcher } of this.#gateways) await this.#driven(dispatcher.functions.load());
    for (let index = 0; index < 2; index++) {
      const worker = new Worker(`worker ${index}`, { interleaver, program: this.#program, hooks, inPlace });
      worker.connect(this.#gateways[index]?.dispatcher as Dispatcher, this.#apps);
      this.#workers.push(worker);
    }
    const [first] = this.#gateways;
    const orders = Array.from({ length: interleaver.chance(0.5) ? 2 : 1 }, () => ({ name: "shop/order", data: {} }));
    for (const order of orders) this.#at(0, "a run is started", () => first?.dispatcher.sendEvents([order]));
    this.#planTroubles();
  }

  /** What comes from outside, at random moves. */
  #planTroubles(): void {
    const often = (trouble: Trouble, what: string, act: () => unknown): void => {
      const [part, most] = this.#focus.troubles[trouble] ?? USUAL[trouble];
      for (let times = 0; times < most; times++) if (this.#interleaver.chance(part)) this.#sometime(what, act);
    };
    const send = (name: string, data: object) => () => this.#any().dispatcher.sendEvents([{ name, data }]);
    often("event", "the event comes", send("shop/paid", { counts: true }));
    often("other", "an event comes that does not count", send("shop/paid", { counts: false }));
    often("stop", "the event that cancels comes", send("shop/stop", {}));
    for (const data of ['"one"', '"two"']) often("signal", `signal ${data}`, () => this.#signal(data));
    often("cancel", "somebody cancels", () => this.#cancel());
    often("time", "time moves", () => this.#skip(this.#interleaver.pick([11, 21, 31])));
    often("look", "a gateway looks into the queue", () => this.#any().dispatcher.tick());
    often("leases", "the leases end", () => this.#interleaver.during(() => this.#ground.endLeases()));
    often("death", "a worker dies and comes back", () => {
      const worker = this.#interleaver.pick(this.#workers);
      worker.die();
      worker.connect(this.#any().dispatcher, this.#apps);
    });
    often("move", "a worker goes elsewhere", () =>
      this.#interleaver.pick(this.#workers).connect(this.#any().dispatcher, this.#apps),
    );
    often("kill", "a gateway dies", () => this.#kill());
  }

  #gateway(index: number): Gateway {
    const name = `gateway ${index}`;
    const held = heldStore(this.#ground.store, name, {
      interleaver: this.#interleaver,
      onCarried: (call) => this.#witness.carried(call),
      onNotify: (wake) => this.#tell(name, wake),
    });
    const settings = { ...DEFAULT_DISPATCHER_SETTINGS, gatewayId: `${name} of ${this.#seed}` };
    const dispatcher = new Dispatcher({
      store: held.store,
      clock: this.#clock(),
      timers: noTimers,
      random: seededRandom(this.#seed * 8 + index),
      log: silentLog,
      call: () => Promise.reject(new Error("nothing is fetched here")),
      chooseWorker: (workers) => [...workers][0],
      settings: { ...settings, requestAckMs: 3_600_000, reconnectGraceMs: 3_600_000 },
    });
    return { name, dispatcher, held, alive: true };
  }

  #clock(): Clock {
    const sinceMs = (): number => this.#interleaver.now * MS_PER_MOVE + this.#restedMs;
    return { nowMs: () => this.#startMs + sinceMs(), monotonicMs: sinceMs };
  }

  /** Notifications reach the others, mostly. */
  #tell(from: string, wake: Wake): void {
    for (const { name, held, alive } of this.#gateways) {
      if (name !== from && alive && this.#interleaver.chance(0.7))
        this.#interleaver.add(`${name} hears: ${wake.type}`, () => held.wake(wake));
    }
  }

  #any(): Gateway {
    return this.#interleaver.pick(this.#gateways.filter(({ alive }) => alive));
  }

  #at(at: number, what: string, act: () => unknown): void {
    this.#plan.push({ at, what, act });
  }

  #sometime(what: string, act: () => unknown): void {
    const { within = MOVES } = this.#focus;
    this.#at(FIRST + Math.floor(this.#interleaver.random() * (within - FIRST)), what, act);
  }

  async #signal(data: string): Promise<void> {
    const found = await this.#any().dispatcher.sendSignal("", this.#program.signal, data);
    this.#witness.signalled(data, found?.runId ?? null);
  }

  async #cancel(): Promise<void> {
    const { runIds } = this.#witness;
    if (runIds.length === 0) return;
    const runId = this.#interleaver.pick(runIds);
    this.#witness.cancelled(runId, await this.#any().dispatcher.cancel(runId, "Somebody wanted it."));
  }

  async #skip(minutes: number): Promise<void> {
    this.#witness.timeMoves(this.#interleaver.now);
    await this.#interleaver.during(() => this.#ground.store.skipTime(minutes * MINUTES));
  }

  #kill(): void {
    if (this.#gateways.filter(({ alive }) => alive).length < 2) return;
    const gateway = this.#any();
    gateway.alive = false;
    gateway.held.kill();
    for (const worker of this.#workers) worker.connect(this.#any().dispatcher, this.#apps);
  }

  async #driven<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const done = work.finally(() => {
      over = true;
    });
    await this.#interleaver.quiet();
    while (!over) await this.#interleaver.next("oldest");
    return done;
  }

  async #allEnded(): Promise<boolean> {
    const runs = await this.#ground.store.loadRuns(this.#witness.runIds);
    return runs.every(({ head }) => head.endedMs !== null);
  }

  async #leftOver(): Promise<string> {
    const runs = await Promise.all(this.#witness.runIds.map((runId) => this.#ground.store.getRun(runId)));
    const left = runs.filter((run) => run?.head.endedMs === null);
    return `these do not end: ${JSON.stringify(left.map((run) => ({ ...run?.head, jobs: run?.jobs })))}`;
  }

  /** Everything goes its way until nothing is left to do, or `enough`. */
  async #settle(enough: () => Promise<boolean> | false): Promise<boolean> {
    // A claim after time was skipped is refused once, since it seems to come late.
    let idleRounds = 0;
    for (let round = 0; round < ROUNDS; round++) {
      while (!this.#interleaver.isOver) await this.#interleaver.next("random");
      if (await enough()) return true;
      await this.#ground.endLeases();
      // Who has just connected is given nothing at first.
      this.#restedMs += 100;
      let taken = 0;
      for (const { alive, dispatcher } of this.#gateways) if (alive) taken += await this.#driven(dispatcher.tick());
      idleRounds = taken === 0 && this.#interleaver.isOver ? idleRounds + 1 : 0;
      if (idleRounds === 2) return enough();
    }
    return false;
  }
}

function appOf(seed: number, has: { cancelOn: boolean; deadline: boolean; finish: boolean }): WorkerSession["apps"][0] {
  const functionOf = (id: string, triggers: object[], more: object) => ({
    slug: `shop-${id}`,
    name: id,
    triggersJson: JSON.stringify(triggers),
    configJson: JSON.stringify({ id: `shop-${id}`, triggers, steps: {}, ...more }),
  });
  const order = functionOf("order", [{ event: "shop/order" }], {
    ...(has.cancelOn ? { cancel: [{ event: "shop/stop" }] } : {}),
    ...(has.deadline ? { holdfast: { deadline: "30m" } } : {}),
    ...(has.finish ? { timeouts: { finish: "20m" } } : {}),
  });
  return { id: "shop", version: String(seed), sdk: "test", functions: [order, functionOf("pack", [], {})] };
}
