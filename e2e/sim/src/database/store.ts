import {
  type AnnouncedJob,
  type ClaimedJob,
  checkTransition,
  functionsToAnnounce,
  jobsOfItem,
  type Store,
  type StoredFunction,
  type StoredRun,
  type Transition,
  type Wake,
} from "@holdfast/store";

import type { Dice } from "../random.ts";
import type { Actor } from "../scheduler.ts";
import { claimLimited } from "./lanes.ts";
import { Line } from "./line.ts";
import type { StoreMood } from "./mood.ts";
import type { Notices } from "./notices.ts";
import { byText, type Taken } from "./rows.ts";
import type { Tables } from "./tables.ts";

/** One gateway's store: the port over the tables. */
export class ModelStore implements Store {
  readonly #tables: Tables;
  readonly #notices: Notices;
  readonly #actor: Actor;
  readonly #dice: Dice;
  readonly #mood: () => StoreMood;
  readonly #line: Line;

  constructor(tables: Tables, notices: Notices, actor: Actor, dice: Dice, mood: () => StoreMood) {
    this.#tables = tables;
    this.#notices = notices;
    this.#actor = actor;
    this.#dice = dice;
    this.#mood = mood;
    this.#line = new Line(tables, actor, dice, mood);
  }

  migrate(): Promise<void> {
    return Promise.resolve();
  }

  async commit(transition: Transition): ReturnType<Store["commit"]> {
    checkTransition(transition);
    const result = await this.#line.submit({ type: "transition", transition });
    if (result.type !== "transition") throw new Error("an outcome answers its unit");
    if (result.outcome.won) {
      const { awaited } = result.outcome;
      const withEvents = (transition.events ?? []).flatMap((item) => jobsOfItem(item, awaited));
      this.#tellOfJobs([...transition.addJobs, ...withEvents]);
    }
    return result.outcome;
  }

  intake(items: Parameters<Store["intake"]>[0]): ReturnType<Store["intake"]> {
    return Promise.all(
      items.map(async (item) => {
        const result = await this.#line.submit({ type: "intake", item });
        if (result.type !== "intake") throw new Error("an outcome answers its unit");
        const { duplicate, awaited } = result.outcome;
        if (!duplicate) this.#tellOfJobs(jobsOfItem(item, awaited ? [item.event.id] : []));
        return result.outcome;
      }),
    );
  }

  async claim(request: Parameters<Store["claim"]>[0]): ReturnType<Store["claim"]> {
    if (request.wants.every(({ limit }) => limit <= 0)) return [];
    return this.#withRuns(
      await this.#line.call(() => {
        this.#tables.registry.expect(request.registryVersion);
        return this.#tables.jobs.claim(request).map(copyOf);
      }),
    );
  }

  async claimLimited(request: Parameters<Store["claimLimited"]>[0]): ReturnType<Store["claimLimited"]> {
    if (request.wants.every(({ limit }) => limit <= 0)) return { jobs: [], blocked: [], retryInMs: null };
    const { jobs: queue, flowRules } = this.#tables;
    const isDue = ({ functionId, limit }: { functionId: string; limit: number }): boolean =>
      limit > 0 && queue.due(functionId).length > 0;
    const { taken, ...rest } = await this.#line.call(() => {
      if (request.wants.some(isDue)) this.#tables.registry.expect(request.registryVersion);
      const found = claimLimited({ queue, flowRules, nowMs: this.#tables.nowMs }, request);
      return { ...found, taken: found.taken.map(copyOf) };
    });
    return { ...rest, jobs: await this.#withRuns(taken) };
  }

  adoptLanes(functionIds: readonly string[]): Promise<void> {
    return this.#line.call(() => this.#tables.jobs.adoptLanes(functionIds));
  }

  postponeJob(fence: Parameters<Store["postponeJob"]>[0], delayMs: number): Promise<boolean> {
    return this.#line.call(() => this.#tables.jobs.postpone(fence, delayMs));
  }

  loadWindow(window: Parameters<Store["loadWindow"]>[0]): ReturnType<Store["loadWindow"]> {
    return this.#line.call(() => this.#tables.flowRules.window(window));
  }

  loadEvents(eventIds: readonly string[]): Promise<readonly string[]> {
    return this.#line.call(() => eventIds.flatMap((id) => this.#tables.events.get(id)?.event.payloadJson ?? []));
  }

  saveCrons(...[appIds, functions, crons]: Parameters<Store["saveCrons"]>): Promise<void> {
    const { crons: table, registry } = this.#tables;
    const current = (): StoredFunction[] => registry.all().filter(({ appId }) => appIds.includes(appId));
    return this.#line.call(() => table.save(appIds, crons, functions, current()));
  }

  repairCrons(crons: Parameters<Store["repairCrons"]>[0]): Promise<void> {
    const { registry } = this.#tables;
    const triggersOf = (functionId: string): string | undefined => {
      const fn = registry.functions.get(functionId);
      return fn?.active ? fn.triggersJson : undefined;
    };
    return this.#line.call(() => this.#tables.crons.repair(crons, triggersOf));
  }

  loadCron(functionId: string, cron: string): ReturnType<Store["loadCron"]> {
    return this.#line.call(() => this.#tables.crons.load(functionId, cron));
  }

  extendLeases(leases: Parameters<Store["extendLeases"]>[0]): ReturnType<Store["extendLeases"]> {
    return this.#line.call(() => this.#tables.jobs.extend(leases));
  }

  releaseLeases(releases: Parameters<Store["releaseLeases"]>[0]): ReturnType<Store["releaseLeases"]> {
    return this.#line.call(() => this.#tables.jobs.release(releases));
  }

  recallJobs(wants: Parameters<Store["recallJobs"]>[0]): ReturnType<Store["recallJobs"]> {
    return this.#line.call(() => this.#tables.jobs.recall(wants));
  }

  finishJob(fence: Parameters<Store["finishJob"]>[0]): ReturnType<Store["finishJob"]> {
    return this.#line.call(() => this.#tables.jobs.finish(fence));
  }

  findWaits(query: Parameters<Store["findWaits"]>[0]): ReturnType<Store["findWaits"]> {
    const { events, runsTable } = this.#tables;
    return this.#line.call(() => runsTable.findWaits(query, query.eventId ? events.get(query.eventId) : undefined));
  }

  waitPaths(name: string): ReturnType<Store["waitPaths"]> {
    return this.#line.call(() => this.#tables.runsTable.waitPaths(name));
  }

  /** Heads first, then logs: others may write in between. */
  async loadRuns(runIds: readonly string[]): Promise<readonly StoredRun[]> {
    const { runs } = this.#tables;
    if (runIds.length === 0) return [];
    const heads = await this.#line.call(() => [...new Set(runIds)].flatMap((id) => runs.get(id)?.head ?? []));
    if (heads.length === 0) return [];
    return this.#line.call(() => heads.map((head) => ({ head, log: this.#tables.stored(head.id)?.log ?? [] })));
  }

  nowMs(): Promise<number> {
    return this.#line.call(() => this.#tables.nowMs);
  }

  nextDueInMs(functionIds: readonly string[]): Promise<number | null> {
    return this.#line.call(() => this.#tables.jobs.nextDueInMs(functionIds));
  }

  async saveApps(apps: Parameters<Store["saveApps"]>[0]): ReturnType<Store["saveApps"]> {
    const { functions, changed } = await this.#line.call(() => {
      const heads = [...this.#tables.runs.values()].map(({ head }) => head);
      return this.#tables.registry.saveApps(apps, heads);
    });
    if (changed) this.notify({ type: "functions" });
    return functions;
  }

  secret(): Promise<string> {
    return this.#line.call(() => "what the gateways of the simulation share");
  }

  useToken(connectionId: string, lifetimeMs: number): Promise<boolean> {
    return this.#line.call(() => this.#tables.registry.useToken(connectionId, lifetimeMs));
  }

  loadRegistry(): ReturnType<Store["loadRegistry"]> {
    return this.#line.call(() => this.#tables.registry.load());
  }

  registryVersion(): Promise<number> {
    return this.#line.call(() => this.#tables.registry.version);
  }

  saveConnection(connection: Parameters<Store["saveConnection"]>[0]): Promise<void> {
    return this.#line.call(() => this.#tables.registry.saveConnection(connection));
  }

  removeConnections(ids: readonly string[]): Promise<void> {
    return this.#line.call(() => this.#tables.registry.removeConnections(ids));
  }

  touchGateway(gatewayId: string): Promise<void> {
    return this.#line.call(() => this.#tables.registry.touchGateway(gatewayId));
  }

  touchConnections(gatewayId: string, staleAfterMs: number): Promise<void> {
    return this.#line.call(() => {
      this.#tables.registry.touchConnections(gatewayId, staleAfterMs);
      this.#tables.tidy();
    });
  }

  onWake(listener: (wake: Wake) => void): () => void {
    this.#actor.scheduler.after(this.#line.delayMs(), this.#actor, () => listener({ type: "all" }));
    return this.#notices.listen(this.#actor, listener);
  }

  notify(wake: Wake): void {
    if (this.#actor.acts()) this.#notices.tell(this.#actor, wake, this.#dice, this.#mood());
  }

  stats(): ReturnType<Store["stats"]> {
    const none = { transitions: 0, statements: 0, logRows: 0, staleWrites: 0, duplicateRows: 0, batchRetries: 0 };
    return { ...none, batches: 0, foreseenBatches: 0, queued: this.#line.queued, commitMs: 0 };
  }

  health(): ReturnType<Store["health"]> {
    return { ok: true, awayMs: 0, error: null, outages: 0, awayMsTotal: 0, conflicts: 0 };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  listRuns(filter: Parameters<Store["listRuns"]>[0]): ReturnType<Store["listRuns"]> {
    const { events, runsTable } = this.#tables;
    const ofEvent = (): readonly string[] | null =>
      filter.eventId === undefined ? null : (events.get(filter.eventId)?.runIds ?? []);
    return this.#line.call(() => runsTable.list(filter, ofEvent()));
  }

  getRun(runId: string): ReturnType<Store["getRun"]> {
    return this.#line.call(() => {
      const run = this.#tables.runs.get(runId);
      if (!run) return null;
      const jobs = [...run.jobs].sort((a, b) => a.availableMs - b.availableMs || byText(a.id, b.id));
      const waits = [...run.waits.values()].sort((a, b) => a.beganMs - b.beganMs || byText(a.key, b.key));
      const views = jobs.map(({ id, kind, key, attempt, epoch, availableMs, leasedBy, claimedMs }) => {
        return { id, kind, key, attempt, epoch, availableMs, leasedBy, claimedMs };
      });
      return { head: this.#tables.runsTable.shown(run), log: [...run.log], jobs: views, waits };
    });
  }

  listEvents({ name, cursor, limit }: Parameters<Store["listEvents"]>[0]): ReturnType<Store["listEvents"]> {
    return this.#line.call(() => {
      const found = [...this.#tables.events.values()]
        .filter(({ event }) => (!name || event.name === name) && (cursor === undefined || event.id < cursor))
        .sort((a, b) => byText(b.event.id, a.event.id));
      const page = found.slice(0, Math.min(Math.max(Math.trunc(limit), 1), 1000));
      const events = page.map(({ event, receivedMs }) => {
        return { id: event.id, name: event.name, tsMs: event.tsMs, receivedMs, payloadJson: event.payloadJson };
      });
      return { events, nextCursor: found.length > page.length ? (events.at(-1)?.id ?? null) : null };
    });
  }

  getEvent(eventId: string): ReturnType<Store["getEvent"]> {
    return this.#line.call(() => {
      const stored = this.#tables.events.get(eventId);
      if (!stored) return null;
      const { event, runIds, receivedMs } = stored;
      return { id: event.id, name: event.name, tsMs: event.tsMs, receivedMs, payloadJson: event.payloadJson, runIds };
    });
  }

  listConnections(): ReturnType<Store["listConnections"]> {
    return this.#line.call(() => this.#tables.registry.connections());
  }

  queueDepth(): ReturnType<Store["queueDepth"]> {
    return this.#line.call(() => this.#tables.jobs.depth());
  }

  ping(): Promise<void> {
    return this.#line.call(() => {});
  }

  async #withRuns(taken: readonly Taken[]): Promise<ClaimedJob[]> {
    const ids = taken.flatMap(({ job }) => (job.runId === "" ? [] : [job.runId]));
    const runs = new Map((await this.loadRuns(ids)).map((run) => [run.head.id, run]));
    return taken.flatMap(({ job, lost, dueMs: dueSinceMs, unplacedMs }) => {
      const run = runs.get(job.runId) ?? null;
      if (!run && job.runId !== "") return [];
      const { id, runId, kind, key, functionId, attempt, iteration, priority, epoch, availableMs: leaseUntilMs } = job;
      const claimed = { id, runId, kind, key, functionId, attempt, iteration, priority, epoch };
      return [{ ...claimed, leaseUntilMs, dueSinceMs, unplacedMs, lost, run }];
    });
  }

  #tellOfJobs(jobs: readonly AnnouncedJob[]): void {
    const functionIds = functionsToAnnounce(jobs);
    if (functionIds.length > 0) this.notify({ type: "jobs", functionIds });
  }
}

const copyOf = (taken: Taken): Taken => ({ ...taken, job: { ...taken.job } });
