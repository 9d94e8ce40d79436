/**
 * The store's port over the tables: checks and hands each call to `tables.ts` through an access. `direct-access.ts`
 * and the simulation's `DatabaseLink` are two.
 */
import { allEnded, invariant } from "@holdfast/core";
import type { HistoryLoss, StoreStats } from "../port/reads.ts";
import type { StoredFunction } from "../port/registry.ts";
import type { Store, Transition, Wake } from "../port/store.ts";
import type { ClaimedJob, ClaimRequest, StoredRun } from "../port/work.ts";
import { checkTransition } from "../rules/check-transition.ts";
import { comesAlone } from "../rules/comes-alone.ts";
import { type AnnouncedJob, functionsToAnnounce, jobsOfItem } from "../rules/jobs-to-announce.ts";
import type { Unit, UnitOutcome } from "../rules/plan.ts";
import { checkStorable } from "../rules/storable.ts";
import type { Controls } from "./controls.ts";
import { claimLimited, releaseLeases } from "./limited-claims.ts";
import { ReadsOnTables, type StatementAccess } from "./reads-on-tables.ts";
import { holdRun, prune, releaseHold } from "./retention.ts";
import type { Taken } from "./rows.ts";
import type { Tables } from "./tables.ts";

/** How calls of one store get to the tables. The simulation's is slow, and loses some. */
export interface TableAccess extends StatementAccess {
  /** Part of a transaction of the group commit. */
  submit(unit: Unit): Promise<UnitOutcome>;
  stats(): StoreStats;
  onWake(listener: (wake: Wake) => void): () => void;
  onLoss(listener: (loss: HistoryLoss) => void): () => void;
  notify(wake: Wake): void;
  skipTime(ms: number): Promise<number>;
  close(): Promise<void>;
}

/** The store's port over tables in memory. */
export class StoreOnTables extends ReadsOnTables implements Store {
  readonly #tables: Tables;
  readonly #access: TableAccess;
  readonly #secret: string;

  constructor(tables: Tables, access: TableAccess, secret: string) {
    super(tables, access);
    this.#tables = tables;
    this.#access = access;
    this.#secret = secret;
  }

  migrate(): Promise<void> {
    return Promise.resolve();
  }

  async commit(transition: Transition): ReturnType<Store["commit"]> {
    checkTransition(transition);
    const result = await this.#submit({ type: "transition", transition });
    invariant(result.type === "transition", "an outcome answers its unit");
    if (result.outcome.won) {
      const { awaited } = result.outcome;
      const withEvents = (transition.events ?? []).flatMap((item) => jobsOfItem(item, awaited));
      this.#announce([...transition.addJobs, ...withEvents]);
    }
    return result.outcome;
  }

  intake(items: Parameters<Store["intake"]>[0]): ReturnType<Store["intake"]> {
    return allEnded(
      items.map(async (item) => {
        const result = await this.#submit({ type: "intake", item });
        invariant(result.type === "intake", "an outcome answers its unit");
        const { duplicate, awaited } = result.outcome;
        if (!duplicate) this.#announce(jobsOfItem(item, awaited ? [item.event.id] : []));
        return result.outcome;
      }),
    );
  }

  async claim(request: Parameters<Store["claim"]>[0]): ReturnType<Store["claim"]> {
    if (request.wants.every(({ limit }) => limit <= 0)) return [];
    return this.#withRuns(
      await this.#access.call(() => {
        this.#tables.expectInTime(request);
        return this.#tables.jobs.claim(request).map(copyOf);
      }),
      request.hasRunOf,
    );
  }

  async claimLimited(request: Parameters<Store["claimLimited"]>[0]): ReturnType<Store["claimLimited"]> {
    if (request.wants.every(({ limit }) => limit <= 0)) return { jobs: [], blocked: [], retryInMs: null };
    const { jobs: queue, flowRules } = this.#tables;
    const isDue = ({ functionId, limit }: { functionId: string; limit: number }): boolean =>
      limit > 0 && queue.due(functionId).length > 0;
    const { taken, ...rest } = await this.#access.call(() => {
      if (request.wants.some(isDue)) this.#tables.expectInTime(request);
      const found = claimLimited({ queue, flowRules, nowMs: this.#tables.nowMs }, request);
      return { ...found, taken: found.taken.map(copyOf) };
    });
    return { ...rest, jobs: await this.#withRuns(taken) };
  }

  adoptLanes(...[adoptions, version]: Parameters<Store["adoptLanes"]>): ReturnType<Store["adoptLanes"]> {
    const { jobs, registry } = this.#tables;
    const isKnown = (): boolean => version === undefined || version === registry.version;
    return this.#access.call(() => jobs.adoptLanes(isKnown() ? adoptions : []));
  }

  postponeJob(fence: Parameters<Store["postponeJob"]>[0], delayMs: number): Promise<boolean> {
    return this.#access.call(() => this.#tables.jobs.postpone(fence, delayMs));
  }

  loadWindow(window: Parameters<Store["loadWindow"]>[0]): ReturnType<Store["loadWindow"]> {
    return this.#access.call(() => this.#tables.flowRules.window(window));
  }

  loadEvents(eventIds: readonly string[]): Promise<readonly string[]> {
    return this.#access.call(() => this.#tables.eventTable.payloads(eventIds));
  }

  saveCrons(...[appIds, functions, crons]: Parameters<Store["saveCrons"]>): Promise<void> {
    const { crons: table, registry } = this.#tables;
    const current = (): StoredFunction[] => registry.all().filter(({ appId }) => appIds.includes(appId));
    return this.#access.call(() => table.save(appIds, crons, functions, current()));
  }

  repairCrons(crons: Parameters<Store["repairCrons"]>[0]): Promise<void> {
    const { registry } = this.#tables;
    const triggersOf = (functionId: string): string | undefined => {
      const fn = registry.functions.get(functionId);
      return fn?.active ? fn.triggersJson : undefined;
    };
    return this.#access.call(() => this.#tables.crons.repair(crons, triggersOf));
  }

  loadCron(functionId: string, cron: string): ReturnType<Store["loadCron"]> {
    return this.#access.call(() => this.#tables.crons.load(functionId, cron));
  }

  extendLeases(leases: Parameters<Store["extendLeases"]>[0]): ReturnType<Store["extendLeases"]> {
    return this.#access.call(() => this.#tables.jobs.extend(leases));
  }

  releaseLeases(releases: Parameters<Store["releaseLeases"]>[0]): ReturnType<Store["releaseLeases"]> {
    const { jobs: queue, flowRules, runsTable: runs } = this.#tables;
    return this.#access.call(() => releaseLeases({ queue, flowRules, runs }, releases));
  }

  renewLeases(gatewayId: string, leaseMs: number): Promise<number> {
    const { registry, jobs } = this.#tables;
    return this.#access.call(() => (registry.hasOtherGateway(gatewayId) ? 0 : jobs.renew(leaseMs)));
  }

  recallJobs(wants: Parameters<Store["recallJobs"]>[0]): ReturnType<Store["recallJobs"]> {
    return this.#access.call(() => this.#tables.jobs.recall(wants));
  }

  finishJob(fence: Parameters<Store["finishJob"]>[0]): ReturnType<Store["finishJob"]> {
    return this.#access.call(() => this.#tables.jobs.finish(fence));
  }

  findWaits(query: Parameters<Store["findWaits"]>[0]): ReturnType<Store["findWaits"]> {
    const { events, runsTable } = this.#tables;
    return this.#access.call(() => runsTable.waits.find(query, query.eventId ? events.get(query.eventId) : undefined));
  }

  scanEvents(scan: Parameters<Store["scanEvents"]>[0]): ReturnType<Store["scanEvents"]> {
    return this.#access.call(() => this.#tables.eventTable.scan(scan));
  }

  /** A transaction takes effect at one moment. */
  writesUnderWay(): Promise<readonly string[]> {
    return this.#access.call(() => []);
  }

  waitPaths(name: string): ReturnType<Store["waitPaths"]> {
    return this.#access.call(() => this.#tables.runsTable.waits.paths(name));
  }

  /** Heads first, then logs: others may write in between. */
  async loadRuns(runIds: readonly string[]): Promise<readonly StoredRun[]> {
    const { runs } = this.#tables;
    if (runIds.length === 0) return [];
    const heads = await this.#access.call(() => [...new Set(runIds)].flatMap((id) => runs.get(id)?.head ?? []));
    if (heads.length === 0) return [];
    return this.#access.call(() =>
      heads.flatMap((head) => {
        // Without a log it was removed between the two.
        const log = this.#tables.stored(head.id)?.log;
        return log ? [{ head, log }] : [];
      }),
    );
  }

  nowMs(): Promise<number> {
    return this.#access.call(() => this.#tables.nowMs);
  }

  nextDueInMs(functionIds: readonly string[]): Promise<number | null> {
    return this.#access.call(() => this.#tables.jobs.nextDueInMs(functionIds));
  }

  async saveApps(...[apps, registration]: Parameters<Store["saveApps"]>): ReturnType<Store["saveApps"]> {
    const { registry } = this.#tables;
    const heads = () => this.#tables.heads();
    const { functions, changed } = await this.#access.call(() => registry.saveApps(apps, heads, registration));
    if (changed) this.notify({ type: "REGISTRY_CHANGED" });
    return functions;
  }

  secret(): Promise<string> {
    return this.#access.call(() => this.#secret);
  }

  useToken(connectionId: string, lifetimeMs: number): Promise<boolean> {
    return this.#access.call(() => this.#tables.registry.useToken(connectionId, lifetimeMs));
  }

  pauseFunction(functionId: string, note: string | null): Promise<boolean> {
    return this.#control((controls) => controls.pauseFunction(functionId, note));
  }

  resumeFunction(functionId: string): Promise<boolean> {
    return this.#control((controls) => controls.resumeFunction(functionId));
  }

  setRollout(rollout: Parameters<Store["setRollout"]>[0]): Promise<boolean> {
    return this.#control((controls) => controls.setRollout(rollout));
  }

  removeRollout(appId: string): Promise<boolean> {
    return this.#control((controls) => controls.removeRollout(appId));
  }

  drainWorker(instance: string): Promise<boolean> {
    return this.#control((controls) => controls.drainWorker(instance));
  }

  undrainWorker(instance: string): Promise<boolean> {
    return this.#control((controls) => controls.undrainWorker(instance));
  }

  putGraph(put: Parameters<Store["putGraph"]>[0]): ReturnType<Store["putGraph"]> {
    return this.#access.call(() => this.#tables.graphs.put(put));
  }

  publishGraph(publication: Parameters<Store["publishGraph"]>[0]): ReturnType<Store["publishGraph"]> {
    return this.#changing(() => this.#tables.graphs.publish(publication));
  }

  unpublishGraph(name: Parameters<Store["unpublishGraph"]>[0]): Promise<boolean> {
    return this.#changing(() => this.#tables.graphs.unpublish(name));
  }

  deleteGraph(...[name, force]: Parameters<Store["deleteGraph"]>): ReturnType<Store["deleteGraph"]> {
    const isLiving = (runId: string): boolean => this.#tables.runs.get(runId)?.head.endedMs === null;
    return this.#changing(() => this.#tables.graphs.delete(name, force, isLiving));
  }

  repairGraphCrons(crons: Parameters<Store["repairGraphCrons"]>[0]): Promise<void> {
    return this.#access.call(() => this.#tables.graphs.repairCrons(crons));
  }

  saveConnection(connection: Parameters<Store["saveConnection"]>[0]): Promise<void> {
    return this.#access.call(() => this.#tables.registry.saveConnection(connection));
  }

  removeConnections(ids: readonly string[], left?: readonly string[]): Promise<void> {
    return this.#access.call(() => this.#tables.registry.removeConnections(ids, left));
  }

  touchGateway(gatewayId: string): Promise<void> {
    return this.#access.call(() => this.#tables.registry.touchGateway(gatewayId));
  }

  touchConnections(gatewayId: string, staleAfterMs: number): Promise<void> {
    return this.#access.call(() => {
      this.#tables.registry.touchConnections(gatewayId, staleAfterMs);
      this.#tables.tidy();
    });
  }

  onWake(listener: (wake: Wake) => void): () => void {
    return this.#access.onWake(listener);
  }

  onLoss(listener: (loss: HistoryLoss) => void): () => void {
    return this.#access.onLoss(listener);
  }

  notify(wake: Wake): void {
    this.#access.notify(wake);
  }

  skipTime(ms: number): Promise<number> {
    return this.#access.skipTime(ms);
  }

  stats(): StoreStats {
    return this.#access.stats();
  }

  /** It exists as long as its process. */
  health(): ReturnType<Store["health"]> {
    return { ok: true, awayMs: 0, error: null, outages: 0, awayMsTotal: 0, conflicts: 0, commitsLost: null };
  }

  close(): Promise<void> {
    return this.#access.close();
  }

  get logStart(): string {
    return this.#tables.runsTable.changes.start();
  }

  logEnd(): ReturnType<Store["logEnd"]> {
    return this.#access.call(() => this.#tables.runsTable.changes.end());
  }

  readChanges(request: Parameters<Store["readChanges"]>[0]): ReturnType<Store["readChanges"]> {
    return this.#access.call(() => this.#tables.runsTable.changes.read(request));
  }

  prune(policy: Parameters<Store["prune"]>[0]): ReturnType<Store["prune"]> {
    return this.#access.call(() => prune(this.#tables, policy));
  }

  holdRun(runId: string, reason: string): ReturnType<Store["holdRun"]> {
    return this.#access.call(() => holdRun(this.#tables, runId, reason));
  }

  releaseHold(runId: string): Promise<boolean> {
    return this.#access.call(() => releaseHold(this.#tables, runId));
  }

  async #withRuns(taken: readonly Taken[], hasRunOf?: ClaimRequest["hasRunOf"]): Promise<ClaimedJob[]> {
    const alone = new Set(taken.filter(({ job, lost }) => comesAlone({ ...job, lost }, hasRunOf)));
    const ids = taken.flatMap((one) => (one.job.runId === "" || alone.has(one) ? [] : [one.job.runId]));
    const runs = new Map((await this.loadRuns(ids)).map((run) => [run.head.id, run]));
    return taken.flatMap((one) => {
      const { job, lost, dueMs: dueSinceMs, unplacedMs, paced = null } = one;
      const run = (alone.has(one) ? null : runs.get(job.runId)) ?? null;
      if (!run && job.runId !== "" && !alone.has(one)) return [];
      const { id, runId, kind, key, functionId, attempt, iteration, priority, epoch, availableMs: leaseUntilMs } = job;
      const claimed = { id, runId, kind, key, functionId, attempt, iteration, priority, epoch };
      return [{ ...claimed, leaseUntilMs, dueSinceMs, unplacedMs, lost, paced, run }];
    });
  }

  async #control(change: (controls: Controls) => boolean): Promise<boolean> {
    const changed = await this.#access.call(() => change(this.#tables.registry.controls));
    if (changed) this.notify({ type: "REGISTRY_CHANGED" });
    return changed;
  }

  /** Of a call that may change the registry. */
  async #changing<T>(change: () => T): Promise<T> {
    const { registry } = this.#tables;
    const [result, changed] = await this.#access.call(() => {
      const { version } = registry;
      const made = change();
      return [made, registry.version !== version] as const;
    });
    if (changed) this.notify({ type: "REGISTRY_CHANGED" });
    return result;
  }

  #submit(unit: Unit): Promise<UnitOutcome> {
    checkStorable(unit);
    return this.#access.submit(unit);
  }

  #announce(jobs: readonly AnnouncedJob[]): void {
    const functionIds = functionsToAnnounce(jobs);
    if (functionIds.length > 0) this.notify({ type: "JOBS_DUE", functionIds });
  }
}

const copyOf = (taken: Taken): Taken => ({ ...taken, job: { ...taken.job } });
