/** The tables of apps, their deployments and functions, and of who is connected. */
import { StoreError } from "../port/errors.ts";
import type {
  AppRecord,
  ConnectionRecord,
  FunctionRecord,
  ListedConnection,
  Registration,
  StoredFunction,
  StoredRegistry,
} from "../port/registry.ts";
import type { RunHead } from "../port/work.ts";
import { functionTaken } from "../rules/function-taken.ts";
import { queuesOf } from "../rules/queues-of.ts";
import { Controls } from "./controls.ts";
import { byText, type TableClock } from "./rows.ts";

/** One set of functions that an app came with. */
interface Group {
  readonly hash: string;
  /** Since when it counts as the newest. */
  since: number;
  seenMs: number;
  /** When the last of its workers said that it ends; later than `seenMs`: it has not been there since. */
  leftMs: number;
  /** What `since` would have been then. */
  leftAt: number;
  readonly version: string;
  readonly slugs: readonly string[];
  readonly queues: Readonly<Record<string, string>>;
}

const GONE_MS = 60_000;
const GATEWAY_GONE_MS = 7_000;
const KEPT_MS = 7 * 86_400_000;

/** Deployments of apps, their functions, and who is connected. */
export class Registry {
  readonly functions = new Map<string, StoredFunction>();
  /** When each was stored first. */
  readonly madeMs = new Map<string, number>();
  readonly controls: Controls;
  readonly #groups = new Map<string, Group[]>();
  readonly #connections = new Map<string, { record: ConnectionRecord; seenMs: number }>();
  readonly #gateways = new Map<string, number>();
  /** Until when each is remembered. */
  readonly #usedTokens = new Map<string, number>();
  /** Of what is published; the table of graphs gives it. */
  published: () => StoredRegistry["graphs"] = () => [];
  readonly #clock: TableClock;
  readonly #newUuid: (count: number) => string;
  #order = 0;
  #version = 1;

  constructor(clock: TableClock, newUuid: (count: number) => string) {
    this.#clock = clock;
    this.#newUuid = newUuid;
    this.controls = new Controls(clock, () => this.changed());
  }

  /** What is decided on it as it was is refused from now on. */
  changed(): void {
    this.#version += 1;
  }

  /** Rises with every statement that changes a function. */
  get version(): number {
    return this.#version;
  }

  /** `heads` gives those of all runs. */
  saveApps(
    given: readonly AppRecord[],
    heads: () => Iterable<RunHead>,
    registration: Registration = {},
  ): { readonly functions: StoredFunction[]; readonly changed: boolean } {
    // Of two records of one app or function the later counts.
    const apps = [...new Map(given.map((app) => [app.id, app])).values()];
    const all = new Map(apps.flatMap((app) => app.functions.map((fn) => [fn.slug, { app, fn }] as const)));
    for (const slug of [...all.keys()].sort(byText)) this.#checkFree(slug, all.get(slug)?.app.id ?? "", heads);
    for (const app of apps) this.#see(app, registration);
    const saved = [...all.values()].map(({ app, fn }) => this.#saveFunction(app, fn));
    const retired = apps.map((app) => this.#retire(app)).includes(true);
    const changes = [saved.includes("made"), saved.includes("changed"), retired].filter(Boolean).length;
    this.#version += changes;
    const ids = new Set(apps.map(({ id }) => id));
    return { functions: this.all().filter(({ appId }) => ids.has(appId)), changed: changes > 0 };
  }

  /** Refuses what rests on another version. */
  expect(version: number | undefined): void {
    if (version === undefined || version === this.#version) return;
    throw new StoreError("outdated", "It rests on another version of the registry. Nothing was stored.");
  }

  mark(): string {
    return JSON.stringify([this.#version, this.#deployments()]);
  }

  load(): StoredRegistry {
    return {
      version: this.#version,
      functions: this.all(),
      deployments: this.#deployments(),
      controls: this.controls.all(),
      graphs: this.published(),
    };
  }

  #deployments(): StoredRegistry["deployments"] {
    const isKept = ({ seenMs }: Group): boolean => seenMs > this.#clock.nowMs() - KEPT_MS;
    return [...this.#groups]
      .sort(([a], [b]) => byText(a, b))
      .flatMap(([appId, groups]) =>
        groups
          .filter(isKept)
          .sort((a, b) => b.since - a.since)
          .map(({ version, slugs, queues }) => ({ appId, version, slugs, queues })),
      );
  }

  /** Of another app's function with this slug neither a deployment may be there nor a run go on. */
  #checkFree(slug: string, appId: string, heads: () => Iterable<RunHead>): void {
    const holder = this.functions.get(slug)?.appId ?? appId;
    if (holder === appId) return;
    const isThere = ({ seenMs, slugs }: Group): boolean =>
      seenMs > this.#clock.nowMs() - GONE_MS && slugs.includes(slug);
    if ((this.#groups.get(holder) ?? []).some(isThere)) throw functionTaken(slug, appId, holder, "deployment");
    const goesOn = (head: RunHead): boolean =>
      head.functionId === slug && head.appId === holder && head.endedMs === null;
    for (const head of heads()) if (goesOn(head)) throw functionTaken(slug, appId, holder, "runs");
  }

  /** When a deployment that has the function was last there. */
  seenMs(functionId: string): number | null {
    const seen = [...this.#groups.values()].flat().filter(({ slugs }) => slugs.includes(functionId));
    return seen.length === 0 ? null : Math.round(Math.max(...seen.map(({ seenMs }) => seenMs)));
  }

  all(): StoredFunction[] {
    return [...this.functions.values()].sort((a, b) => byText(a.slug, b.slug));
  }

  saveConnection(record: ConnectionRecord): void {
    const connectedMs = this.#connections.get(record.id)?.record.connectedMs ?? record.connectedMs;
    this.#connections.set(record.id, { record: { ...record, connectedMs }, seenMs: this.#clock.nowMs() });
  }

  removeConnections(ids: readonly string[], left: readonly string[] = []): void {
    const ended = left.flatMap((id) => this.#connections.get(id)?.record.versions ?? []);
    for (const id of ids) this.#connections.delete(id);
    for (const [appId, groups] of this.#groups) {
      for (const group of groups) {
        const isLast = ended.includes(`${appId}@${group.version}`) && !this.#isConnected(appId, group);
        if (isLast) Object.assign(group, { leftMs: this.#clock.nowMs(), leftAt: this.#order });
      }
    }
  }

  #isConnected(appId: string, { version }: Group): boolean {
    return [...this.#connections.values()].some(({ record }) => record.versions.includes(`${appId}@${version}`));
  }

  recentBuilds(appId: string, version: string): readonly string[] {
    return (this.#groups.get(appId) ?? [])
      .filter((group) => group.version === version && group.seenMs > this.#clock.nowMs() - GONE_MS)
      .map(({ hash }) => hash)
      .sort(byText);
  }

  touchConnections(gatewayId: string, staleAfterMs: number): void {
    for (const [id, groups] of this.#groups) this.#groups.set(id, this.#keptOf(groups));
    for (const [id, untilMs] of [...this.#usedTokens]) if (untilMs < this.#clock.nowMs()) this.#usedTokens.delete(id);
    for (const [id, connection] of [...this.#connections]) {
      if (connection.record.gatewayId === gatewayId) connection.seenMs = this.#clock.nowMs();
      if (connection.seenMs < this.#clock.nowMs() - staleAfterMs) this.#connections.delete(id);
    }
    const connected = [...this.#connections.values()].map(({ record }) => record.instanceId);
    this.controls.tidy((instance) => connected.some((id) => instance.endsWith(id)));
  }

  /** Without those that were last seen long ago; the newest stays. */
  #keptOf(groups: readonly Group[]): Group[] {
    const newest = Math.max(...groups.map(({ since }) => since));
    const keptMs = this.#clock.nowMs() - KEPT_MS;
    return groups.filter(({ since, seenMs }) => since === newest || seenMs >= keptMs);
  }

  useToken(connectionId: string, lifetimeMs: number): boolean {
    if (this.#usedTokens.has(connectionId)) return false;
    this.#usedTokens.set(connectionId, this.#clock.nowMs() + lifetimeMs);
    return true;
  }

  touchGateway(gatewayId: string): void {
    this.#gateways.set(gatewayId, this.#clock.nowMs());
  }

  hasOtherGateway(gatewayId: string): boolean {
    const afterMs = this.#clock.nowMs() - GATEWAY_GONE_MS;
    return [...this.#gateways].some(([id, seenMs]) => id !== gatewayId && seenMs > afterMs);
  }

  /** Signs of life move along with time that is skipped. */
  skip(ms: number): void {
    for (const connection of this.#connections.values()) connection.seenMs += ms;
    for (const [id, seenMs] of this.#gateways) this.#gateways.set(id, seenMs + ms);
  }

  connections(): ListedConnection[] {
    return [...this.#connections.values()]
      .map(({ record }) => {
        const seenMs = this.#gateways.get(record.gatewayId) ?? this.#clock.nowMs();
        return { ...record, silentMs: Math.max(0, this.#clock.nowMs() - seenMs) };
      })
      .sort((a, b) => b.connectedMs - a.connectedMs || byText(a.id, b.id));
  }

  /** One that is new or has come back, or whose successors are all gone, becomes the newest. */
  #see(app: AppRecord, { startedAgoMs, awayMs = GONE_MS, trustsSilence = true }: Registration): void {
    const groups = this.#groups.get(app.id) ?? [];
    this.#groups.set(app.id, groups);
    const nowMs = this.#clock.nowMs();
    this.#order += 1;
    const known = groups.find(({ hash }) => hash === hashOf(app));
    if (!known) {
      const slugs = app.functions.map(({ slug }) => slug);
      const { version } = app;
      const since = this.#order;
      groups.push({
        hash: hashOf(app),
        since,
        seenMs: nowMs,
        leftMs: -1,
        leftAt: 0,
        version,
        slugs,
        queues: queuesOf(app),
      });
      return;
    }
    const newer = groups.filter(({ since }) => since > known.since);
    const isThere = (group: Group): boolean => group.version !== known.version && this.#isConnected(app.id, group);
    const isSilent = (group: Group): boolean => hasLeft(group) || group.seenMs <= nowMs - GONE_MS;
    const isGone = trustsSilence && newer.every((group) => isSilent(group) && !isThere(group));
    // It has been replaced as none of it was there.
    const gaveWay = hasLeft(known) && newer.every(({ since }) => since > known.leftAt);
    const wasAway = awayMs === 0 || gaveWay || newer.some(({ seenMs }) => seenMs - known.seenMs > awayMs);
    const isBack = startedAgoMs !== undefined && nowMs - startedAgoMs > known.seenMs && wasAway;
    if (newer.length > 0 && (isGone || isBack)) known.since = this.#order;
    known.seenMs = nowMs;
  }

  #isNewest(app: AppRecord): boolean {
    const groups = this.#groups.get(app.id) ?? [];
    return groups.every((group) => group.hash === hashOf(app) || !this.#isAfter(group, app, groups));
  }

  #isAfter(group: Group, app: AppRecord, groups: readonly Group[]): boolean {
    return group.since > (groups.find(({ hash }) => hash === hashOf(app))?.since ?? 0);
  }

  #saveFunction(app: AppRecord, fn: FunctionRecord): "made" | "changed" | "same" {
    const before = this.functions.get(fn.slug);
    const active = this.#isNewest(app);
    if (before && !active) return "same";
    const known = before?.appId === app.id ? before : undefined;
    const uuid = known?.uuid ?? this.#newUuid(this.functions.size);
    const { slug, name, triggersJson, configJson } = fn;
    const stored = { slug, name, triggersJson, configJson, appId: app.id, appVersion: app.version, uuid, active };
    if (before && JSON.stringify(before) === JSON.stringify(stored)) return "same";
    this.functions.set(slug, stored);
    if (!before) this.madeMs.set(slug, this.#clock.nowMs());
    return before ? "changed" : "made";
  }

  #retire(app: AppRecord): boolean {
    if (!this.#isNewest(app)) return false;
    const slugs = new Set(app.functions.map(({ slug }) => slug));
    const gone = this.all().filter(({ appId, active, slug }) => appId === app.id && active && !slugs.has(slug));
    for (const fn of gone) this.functions.set(fn.slug, { ...fn, active: false });
    return gone.length > 0;
  }
}

const hasLeft = ({ leftMs, seenMs }: Group): boolean => leftMs >= seenMs;

/** Equal for workers of one deployment. */
function hashOf({ id, version, sdk, functions }: AppRecord): string {
  const texts = functions.map(({ slug, name, triggersJson, configJson }) => [slug, name, triggersJson, configJson]);
  return JSON.stringify([id, version, sdk, texts.sort(([a = ""], [b = ""]) => byText(a, b))]);
}
