import { type ClaimedJob, type ClaimLimits, type JobRow, readWindowKey, type Store } from "@holdfast/store";

import type { Dice } from "../../src/random.ts";
import { Items } from "./items.ts";
import type { Pair } from "./pair.ts";
import { readAll } from "./reads.ts";
import { Transitions } from "./transitions.ts";

type Command = () => Promise<void>;

const LIMITS: Readonly<Record<string, ClaimLimits>> = {
  lim: { slots: [3, 2], throttle: { everyMs: 1000, burst: 2 }, shared: false },
  lim2: { slots: [2], throttle: null, shared: true },
};
const ONLY_PACED = { id: "ee~only", slots: [], throttle: "only" };
const FAR_MS = 86_400_000;

/** Makes random calls of the store's port, each to both stores. */
export class Player {
  readonly #pair: Pair;
  readonly #dice: Dice;
  readonly #items: Items;
  readonly #transitions: Transitions;
  readonly #commands: readonly (readonly [number, Command])[];

  constructor(pair: Pair, dice: Dice) {
    this.#pair = pair;
    this.#dice = dice;
    this.#items = new Items(pair, dice);
    this.#transitions = new Transitions(pair, dice, this.#items);
    const commands: readonly (readonly [number, Command])[] = [
      [6, () => this.#intake()],
      [8, () => this.#commit()],
      [5, () => this.#claim()],
      [5, () => this.#claimLimited()],
      [6, () => this.#leases()],
      [3, () => this.#fire()],
      [2, () => this.#registry()],
      [2, () => this.#schedules()],
      [2, () => this.#controls()],
      [4, () => readAll(pair, dice, (name, args, make) => this.#call(name, args, make))],
      [5, () => this.#wait()],
      [2, () => this.#atTheEdge()],
      [2, () => this.#burst()],
    ];
    // Each sequence has more of some and less of others.
    this.#commands = commands.map(([weight, command]) => [weight * dice.pick([0.2, 1, 1, 4]), command]);
  }

  async play(count: number): Promise<void> {
    const total = this.#commands.reduce((sum, [weight]) => sum + weight, 0);
    for (let i = 0; i < count; i += 1) {
      let roll = this.#dice.within(0, total);
      for (const [weight, command] of this.#commands) {
        roll -= weight;
        if (roll >= 0) continue;
        if (this.#dice.chance(0.5)) await this.#pair.advance(1);
        await command();
        break;
      }
    }
    await this.#pair.compareTables();
  }

  /** For a while, or until something is exactly so old. */
  async #wait(): Promise<void> {
    const { tables } = this.#pair.model;
    const sinceMs = this.#dice.pick([
      this.#pair.nowMs,
      ...[...tables.events.values()].map(({ receivedMs }) => receivedMs),
      ...[...tables.flowRules.rows.values()].map(({ atMs }) => atMs),
    ]);
    const untilMs = sinceMs + this.#dice.pick([1, 700, 1000, 2000, 3000, 60_000, FAR_MS]);
    await this.#pair.advance(Math.max(0, untilMs - this.#pair.nowMs));
  }

  /** What depends on an instant, at that very instant or next to it. */
  async #atTheEdge(): Promise<void> {
    const { tables } = this.#pair.model;
    const asideMs = this.#dice.pick([-1, 0, 0, 1]);
    const until = (atMs: number): Promise<void> => this.#pair.advance(Math.max(0, atMs + asideMs - this.#pair.nowMs));
    const keyed = [...tables.events.values()].filter(({ event }) => event.idempotencyKey);
    const waits = tables.runsTable.waits.all().filter(({ kind, expiresMs }) => kind !== "signal" && expiresMs !== null);
    const roll = this.#dice.random();
    if (roll < 0.4 && keyed.length > 0) {
      const { event, receivedMs } = this.#dice.pick(keyed);
      await until(receivedMs + FAR_MS);
      const again = { event: { ...event, id: this.#items.id("v") }, runs: [] };
      await this.#call("intake of a known key", again, (store) => store.intake([again]));
    } else if (roll < 0.7 && waits.length > 0) {
      const { expiresMs, name } = this.#dice.pick(waits);
      await until(expiresMs ?? 0);
      const id = this.#items.id("v");
      const item = { event: { id, name, tsMs: 1, payloadJson: "{}" }, runs: [] };
      await this.#call("intake for a wait", item, (store) => store.intake([item]));
      const query = { name, kinds: ["event", "cancel", "invoke"] as const, eventId: id, limit: 100 };
      await this.#call("findWaits", query, (store) => store.findWaits(query));
    } else {
      await this.#deploy("1");
      await this.#deploy("2");
      await until(this.#pair.nowMs + 60_000);
      await this.#deploy("1", 0);
    }
  }

  /** What people set: each of it changes the registry's version, or nothing. */
  async #controls(): Promise<void> {
    const id = this.#dice.pick(["f0", "f1"]);
    const note = this.#dice.pick([null, "one", "two"]);
    const rollout = { appId: id, version: this.#dice.pick(["1", "2"]), percent: this.#dice.pick([0, 12.5, 100]) };
    const calls: readonly (readonly [string, unknown, (store: Store) => Promise<boolean>])[] = [
      ["pauseFunction", note, (store) => store.pauseFunction(id, note)],
      ["resumeFunction", id, (store) => store.resumeFunction(id)],
      ["setRollout", rollout, (store) => store.setRollout(rollout)],
      ["removeRollout", id, (store) => store.removeRollout(id)],
      ["drainWorker", id, (store) => store.drainWorker(id)],
      ["undrainWorker", id, (store) => store.undrainWorker(id)],
    ];
    const [name, args, make] = this.#dice.pick(calls);
    await this.#call(name, args, make);
  }

  /** Many claims within a moment. */
  async #burst(): Promise<void> {
    for (let i = 0; i < 3; i += 1) {
      const item = {
        event: { id: this.#items.id("v"), name: "e9", tsMs: 1, payloadJson: "{}" },
        runs: [this.#items.run(false)],
      };
      await this.#call("intake", item, (store) => store.intake([item]));
      await this.#pair.advance(this.#dice.pick([1, 100, 700]));
      await this.#claimLimited();
    }
  }

  #call<T>(name: string, args: unknown, make: (store: Store) => Promise<T>): Promise<T | undefined> {
    return this.#pair.call(`${this.#pair.nowMs} ${name} ${JSON.stringify(args)}`, make);
  }

  get #jobs(): JobRow[] {
    return [...this.#pair.model.tables.queue.values()];
  }

  async #intake(): Promise<void> {
    const items = Array.from({ length: this.#dice.between(1, 3) }, () => this.#items.item());
    const stored = [...this.#pair.model.tables.events.values()];
    if (stored.length > 0 && this.#dice.chance(0.3)) {
      const { event } = this.#dice.pick(stored);
      items.push({ event: { ...event, idempotencyKey: null }, runs: [this.#items.run(false)], mayRepeat: true });
    }
    // Each stands alone when the database refuses one.
    await this.#call("intake", items, (store) => Promise.allSettled(items.map((item) => store.intake([item]))));
  }

  async #commit(): Promise<void> {
    const runs = [...this.#pair.model.tables.runs.keys()];
    const transitions = Array.from({ length: this.#dice.between(1, 3) }, () =>
      this.#transitions.of(runs.length > 0 && this.#dice.chance(0.95) ? this.#dice.pick(runs) : this.#items.id("r")),
    );
    await this.#call("commit", transitions, (store) =>
      Promise.all(transitions.map((one) => store.commit(one).catch((error: { code: unknown }) => error.code))),
    );
  }

  async #claim(): Promise<void> {
    const functions = this.#items.functions.filter((id) => !id.startsWith("lim"));
    const functionId = this.#dice.pick(["", ...functions]);
    const limit = functionId === "" ? 1000 : this.#dice.between(0, 3);
    const sharing = functions.map((id) => ({ functionId: id, limit: this.#dice.between(0, 3), room: 0 }));
    const wants = this.#dice.chance(0.3) ? sharing : [{ functionId, limit }];
    const rooms = [this.#dice.between(0, 4)];
    const request = { gatewayId: this.#dice.pick(["g1", "g2"]), leaseMs: 4000, wants, rooms };
    const hasRuns = this.#dice.chance(0.5);
    await this.#part(
      (await this.#call("claim", request, (store) => store.claim({ ...request, hasRunOf: () => hasRuns }))) ?? [],
    );
  }

  async #claimLimited(): Promise<void> {
    const ids = this.#dice.pick([["lim"], ["lim2"], ["lim", "lim2"]]);
    if (this.#dice.chance(0.1)) {
      const lane = this.#dice.pick([null, { id: "ee", slots: ["only"], throttle: null }, ONLY_PACED]);
      const adoptions = ids.map((functionId) => ({ functionId, lane }));
      await this.#call("adoptLanes", adoptions, (store) => store.adoptLanes(adoptions));
    }
    const shared = this.#dice.chance(0.5) ? { room: 0 } : {};
    const wants = ids.map((functionId) => {
      const limits = LIMITS[functionId] as ClaimLimits;
      return { functionId, limit: this.#dice.between(1, 4), leaseMs: 4000, limits, ...shared };
    });
    const request = { gatewayId: "g1", wants, rooms: [this.#dice.between(0, 4)] };
    // In which order they name the functions that are full is not promised.
    const found = await this.#call("claimLimited", request, async (store) => {
      const claim = await store.claimLimited(request);
      return { ...claim, blocked: [...claim.blocked].sort() };
    });
    const jobs = found?.jobs ?? [];
    const returned = jobs.filter(() => this.#dice.chance(0.2));
    const releases = returned.map(({ id: jobId, epoch, paced }) => {
      return { jobId, epoch, lost: false, paced, holdMs: this.#pair.alone(this.#dice.between(1, 900)) };
    });
    if (releases.length > 0) await this.#call("releaseLeases", releases, (store) => store.releaseLeases(releases));
    await this.#part(jobs);
  }

  /** What one claim took becomes due at different times from now on. */
  async #part(jobs: readonly ClaimedJob[]): Promise<void> {
    const leases = jobs.map(({ id: jobId, epoch }) => {
      return { jobId, epoch, gatewayId: "g1", leaseMs: this.#pair.alone(this.#dice.pick([0, 500, 4000])) };
    });
    if (jobs.length > 0) await this.#call("extendLeases", leases, (store) => store.extendLeases(leases));
  }

  async #leases(): Promise<void> {
    const job = await this.#lease();
    if (job && this.#dice.chance(0.5)) await this.#lease(job);
  }

  async #lease(again?: JobRow): Promise<JobRow | undefined> {
    const dice = this.#dice;
    const all = this.#jobs;
    const begun = all.filter(({ epoch, runId }) => epoch > 0 && runId !== "");
    const jobs = begun.length > 0 && dice.chance(0.7) ? begun : all;
    if (jobs.length === 0) return undefined;
    const job = again ?? dice.pick(jobs);
    const { functionId } = job;
    const fence = { jobId: job.id, epoch: job.epoch - (dice.chance(0.15) ? 1 : 0) };
    const roll = dice.random();
    if (roll < 0.35) {
      const limits = LIMITS[functionId] ?? null;
      const more = dice.chance(0.7) ? { functionId, limits } : { next: dice.chance(0.5) };
      const lease = { ...fence, gatewayId: "g2", leaseMs: this.#pair.alone(dice.pick([0, 4000])), ...more };
      await this.#call("extendLeases", [lease], (store) => store.extendLeases([lease]));
    } else if (roll < 0.7) {
      if (this.#pair.alone(0) > 0) return undefined;
      const heldBy = dice.pick([{}, { heldBy: "g1" }, { heldBy: "g2" }]);
      const hold = dice.chance(0.4) ? { holdMs: this.#pair.alone(dice.between(1, 900)) } : {};
      const sinceMs = dice.pick([0, 700]);
      const unplaced = dice.chance(0.3) ? { unplaced: { sinceMs, version: dice.pick(["1", "2"]) } } : {};
      const release = { ...fence, lost: dice.chance(0.5), ...heldBy, ...hold, ...unplaced };
      await this.#call("releaseLeases", [release], (store) => store.releaseLeases([release]));
    } else if (roll < 0.85) {
      const delayMs = this.#pair.alone(dice.between(1, 900));
      await this.#call("postponeJob", { ...fence, delayMs }, (store) => store.postponeJob(fence, delayMs));
    } else if (roll < 0.92) {
      const appVersion = dice.pick(["1", "2", "", null]);
      const wants = [{ functionId, appVersion, limit: dice.pick([1, 10]) }];
      await this.#call("recallJobs", wants, (store) => store.recallJobs(wants));
    } else await this.#call("finishJob", fence, (store) => store.finishJob(fence));
    return job;
  }

  /** A window that is over makes a run. */
  async #fire(): Promise<void> {
    const jobs = this.#jobs.filter(({ kind }) => kind === "window" || kind === "cron");
    if (jobs.length === 0) return;
    const job = this.#dice.pick(jobs);
    const fence = { jobId: job.id, epoch: job.epoch };
    const { event, runs } = { ...this.#items.item(), runs: [this.#items.run(true)] };
    if (job.kind === "cron") {
      const [functionId = "", cron = ""] = job.key.split("\n");
      const tickMs = this.#pair.nowMs + 60_000;
      const next = this.#dice.chance(0.8)
        ? { tickMs, dueMs: this.#pair.nowMs + this.#pair.alone(60_000), jobId: this.#items.id("j") }
        : null;
      const item = {
        event: { ...event, idempotencyKey: null },
        runs,
        source: { fence, cron: { functionId, cron, next } },
      };
      await this.#call("intake of a tick", item, (store) => store.intake([item]));
      return;
    }
    const key = readWindowKey(job.key);
    if (!key) throw new Error(`no window: ${job.key}`);
    const { functionId } = key;
    await this.#call("openWindows", functionId, (store) => store.openWindows([functionId]));
    const window = await this.#call("loadWindow", key, (store) => store.loadWindow(key));
    const count = (window?.count ?? 0) - (this.#dice.chance(0.1) ? 1 : 0);
    const stored = window?.eventIds ?? [];
    const plain = { ...event, id: stored[0] ?? event.id, idempotencyKey: null };
    const item = { event: plain, runs, storedEvents: stored, source: { fence, window: { ...key, count } } };
    await this.#call("intake of a window", item, (store) => store.intake([item, item]));
    await this.#call("loadEvents", stored, (store) => store.loadEvents(stored));
  }

  async #registry(): Promise<void> {
    const dice = this.#dice;
    const version = dice.pick(["1", "2", "3"]);
    const roll = dice.random();
    if (roll < 0.6) {
      await this.#deploy(version);
    } else if (roll < 0.8) {
      const about = {
        instanceId: "i",
        appIds: ["app"],
        versions: [`app@${version}`],
        queues: ["*"],
        partitions: [],
        capacity: 10,
        status: dice.pick(["READY", "DRAINING"]),
      };
      const connection = {
        id: dice.pick(["c1", "c2"]),
        gatewayId: dice.pick(["g1", "g2"]),
        ...about,
        connectedMs: 1000,
      };
      await this.#call("saveConnection", connection, (store) => store.saveConnection(connection));
    } else if (roll < 0.9) await this.#call("removeConnections", "c1", (store) => store.removeConnections(["c1"]));
    else if (roll < 0.95) await this.#call("touchGateway", "g1", (store) => store.touchGateway("g1"));
    else await this.#call("touchConnections", "g1", (store) => store.touchConnections("g1", 60_000));
  }

  /** Of two deployments at one instant none is the newer one; a real clock has no two equal instants. */
  async #deploy(version: string, afterMs = 1): Promise<void> {
    await this.#pair.advance(afterMs);
    const names = { 1: ["a", "b"], 2: ["b", "c"], 3: ["a"] }[version] ?? [];
    const functions = names.map((name) => {
      return { slug: `app-${name}`, name, triggersJson: "[]", configJson: JSON.stringify({ version }) };
    });
    // Another app that wants the same names.
    const id = this.#dice.chance(0.15) ? "other" : "app";
    const apps = [{ id, version, sdk: "test", functions }];
    await this.#call("saveApps", apps, (store) => store.saveApps(apps));
  }

  async #schedules(): Promise<void> {
    const dice = this.#dice;
    const { nowMs } = this.#pair;
    const crons = ["a", "b"]
      .filter(() => dice.chance(0.7))
      .map((name) => {
        const dueMs = nowMs + this.#pair.alone(dice.pick([0, 30_000]));
        const about = { functionId: `app-${name}`, appId: "app", cron: "* * * * *", jitterMs: dice.pick([0, 1000]) };
        return { ...about, tickMs: dueMs, dueMs, jobId: this.#items.id("j") };
      });
    const areKnown = dice.chance(0.7);
    await this.#call("saveCrons", { areKnown, crons }, async (store) =>
      store.saveCrons(["app"], areKnown ? (await store.loadRegistry()).functions : [], crons),
    );
    const known = crons.map((cron) => ({
      ...cron,
      jobId: this.#items.id("j"),
      triggersJson: dice.pick(["[]", "[1]"]),
    }));
    await this.#call("repairCrons", known, (store) => store.repairCrons(known));
    await this.#call("loadCron", "app-a", (store) => store.loadCron("app-a", "* * * * *"));
  }
}
