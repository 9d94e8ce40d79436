/**
 * Owns the registry of functions as it was last read: which functions an event triggers, their settings, versions and
 * limits. What is decided on it carries its version (docs/decisions/0039).
 */
import { type Clock, HoldfastError, type Log, messageOf, type Random } from "@holdfast/core";
import {
  type EventReader,
  type Expressions,
  eventMatches,
  type FunctionSettings,
  isAlwaysTriggered,
  isPlain,
  isTriggered,
  limitsOf,
  NO_SETTINGS,
  onlyLaneOf,
  type RunOptions,
  readFunctionSettings,
  readRunOptions,
  sha256,
} from "@holdfast/engine";
import {
  type AppRecord,
  type ClaimLimits,
  type Deployment,
  environmentOf,
  type Lane,
  type LaneAdoption,
  qualify,
  type RegisteredCron,
  type Store,
  type StoredFunction,
  type StoredRegistry,
} from "@holdfast/store";
import { type AfterControls, Controls } from "./controls.ts";
import { cronsOf } from "./crons-of.ts";
import { FunctionQueues } from "./function-queues.ts";
import { isNewest, type RegistryState } from "./is-newest.ts";
import type { LaneAdoptions } from "./lane-adoptions.ts";
import { PublishedGraphs } from "./published-graphs.ts";
import { RegistrationWarnings } from "./registration-warnings.ts";
import { TrustInSilence } from "./trust-in-silence.ts";

/**
 * Loads repair what the mark does not speak of, such as schedules that a gateway did not come to store: once a minute.
 */
const LOOKS_BETWEEN_LOADS = 30;

/** A function as the engine needs it. */
export interface KnownFunction extends RunOptions {
  /** The slug, as the function's environment has it. */
  readonly id: string;
  readonly environment: string;
  readonly uuid: string;
  /** False: only the runs that it has go on. */
  readonly active: boolean;
  readonly appId: string;
  readonly appVersion: string;
  readonly settings: FunctionSettings;
  /** Nothing in the plan concerns a single run: neither limits nor flow rules nor windows nor a priority. */
  readonly plain: boolean;
  /** What claims of its jobs have to heed. */
  readonly limits: ClaimLimits | null;
  /** The lane of all of its jobs; null: it has no limits, or they have keys. */
  readonly onlyLane: Lane | null;
}

export interface FunctionsParts {
  readonly store: Store;
  readonly log: Log;
  readonly adoptions: Pick<LaneAdoptions, "review">;
  readonly expressions: Expressions;
  readonly random: Random;
  readonly newId: () => string;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly settings: { readonly awayMs?: number };
  /** The database's time, as well as it is known. */
  readonly nowMs: () => number;
  readonly emit: (effect: AfterControls) => void;
}

/** The registry: the store's, mirrored in memory. */
export class Functions {
  readonly #store: Store;
  readonly #parts: FunctionsParts;
  #byId = new Map<string, KnownFunction>();
  #stored = new Map<string, StoredFunction>();
  #deployments: readonly Deployment[] = [];
  #version = 0;
  /** What was read when the store's registry had this mark. */
  #mark: string | null = null;
  #looksUnchanged = 0;
  #limited: readonly LaneAdoption[] = [];
  /** The deployment of each app that was recorded here last, and when that was, monotonic. */
  readonly #saved = new Map<string, { readonly fingerprint: string; readonly atMs: number }>();
  readonly #silence: TrustInSilence;
  readonly #warnings: RegistrationWarnings;
  /** A look at the store's version that has not begun. */
  #renewal: Promise<void> | null = null;
  #last: Promise<void> = Promise.resolve();
  readonly #matches = new Map<string, readonly KnownFunction[]>();
  readonly #versions = new Map<string, readonly string[]>();
  readonly #queues = new FunctionQueues();
  readonly controls: Controls;
  readonly graphs = new PublishedGraphs();
  /** For the few names of the engine's own events. */
  readonly #triggering = new Map<string, boolean>();

  constructor(parts: FunctionsParts) {
    this.#parts = parts;
    this.#store = parts.store;
    this.#silence = new TrustInSilence(parts.clock);
    this.#warnings = new RegistrationWarnings({ ...parts, isForDevelopment: parts.settings.awayMs === 0 });
    this.controls = new Controls(parts.emit);
  }

  get(functionId: string): KnownFunction | undefined {
    return this.#byId.get(functionId);
  }

  all(): Iterable<KnownFunction> {
    return this.#byId.values();
  }

  /** Of the registry, as it was read: what is decided on it may be written only while it is the store's, too. */
  get version(): number {
    return this.#version;
  }

  /** The versions of its app that have the function, the newest first. */
  versionsOf(functionId: string): readonly string[] {
    const known = this.#versions.get(functionId);
    if (known) return known;
    const fn = this.#byId.get(functionId);
    const having = this.#deployments.filter(({ appId, slugs }) => appId === fn?.appId && slugs.includes(functionId));
    const versions = fn ? [...new Set([fn.appVersion, ...having.map(({ version }) => version)])] : [];
    this.#versions.set(functionId, versions);
    return versions;
  }

  /** The queue of this version of the function. */
  queueOf(functionId: string, version: string): string {
    return this.#queues.queueOf(functionId, version);
  }

  load(): Promise<void> {
    return this.#inTurn(() => this.#load());
  }

  /** For every few seconds: reads it again where the store's is another one, and now and then in any case. */
  refresh(): Promise<void> {
    return this.#inTurn(async () => {
      const mark = await this.#store.registryMark();
      this.#looksUnchanged = mark === this.#mark ? this.#looksUnchanged + 1 : 0;
      if (this.#looksUnchanged % LOOKS_BETWEEN_LOADS === 0) await this.#load();
      else this.#parts.adoptions.review(this.#limited, this.#version);
      this.#mark = mark;
    });
  }

  /** Reads the registry again, unless that has happened since it had the version `than`. */
  renew(than: number): Promise<void> {
    return this.#inTurn(() => (this.#version === than ? this.#load() : Promise.resolve()));
  }

  async #load(): Promise<void> {
    this.#put(await this.#store.loadRegistry());
    // The gateway that saved the functions may have died before it saved their schedules; none is removed here.
    const crons = this.#crons(new Set([...this.#byId.values()].map(({ appId }) => appId)));
    if (crons.length > 0) await this.#store.repairCrons(crons);
    // A gateway of the version before takes them for what no function has any more.
    const ofGraphs = this.graphs.crons(this.#parts.nowMs(), this.#parts.newId);
    if (ofGraphs.length > 0) await this.#store.repairGraphCrons(ofGraphs);
    this.#parts.adoptions.review(this.#limited, this.#version);
  }

  get #state(): RegistryState {
    return { deployments: this.#deployments, functions: this.#stored };
  }

  /**
   * Stores what a worker brought; does nothing when it is known already. `startedMs`: when its process began, monotonic;
   * undefined: that is not known.
   */
  async save(apps: readonly AppRecord[], startedMs?: number): Promise<void> {
    const isNew = (app: AppRecord): boolean => {
      const saved = this.#saved.get(app.id);
      if (saved?.fingerprint !== fingerprint(app)) return true;
      // A process that began since may bring a deployment back that has been replaced meanwhile, at another gateway.
      return startedMs !== undefined && startedMs > saved.atMs && !isNewest(app, this.#state);
    };
    // Another app may have one of the names by now, through another gateway.
    if (!apps.some(isNew)) await this.renewIfChanged();
    if (!apps.some(isNew)) return;
    await this.#inTurn(async () => {
      const changed = apps.filter(isNew);
      if (changed.length === 0) return;
      await this.#save(changed, startedMs);
      const atMs = this.#parts.clock.monotonicMs();
      for (const app of changed) this.#saved.set(app.id, { fingerprint: fingerprint(app), atMs });
      await this.#warnings.check(changed, (slug) => this.#byId.get(slug)?.active !== false);
    });
  }

  /**
   * Reads the registry again where the store's is another one. Many that ask at once share a look at the store: each has
   * one that begins after it has asked.
   */
  renewIfChanged(): Promise<void> {
    this.#renewal ??= this.#inTurn(async () => {
      this.#renewal = null;
      if ((await this.#store.registryVersion()) !== this.#version) await this.#load();
    });
    return this.#renewal;
  }

  /** Says now and then which deployments are still connected. */
  touch(apps: readonly AppRecord[]): Promise<void> {
    const distinct = [...new Map(apps.map((app) => [fingerprint(app), app])).values()];
    return this.#inTurn(async () => {
      for (const app of distinct) await this.#save([app]).catch((error: unknown) => this.#logTaken(error));
      this.#silence.recordTouch();
    });
  }

  /**
   * While this gateway was silent its workers did not count as connected: another app may have a name of theirs now.
   */
  #logTaken(error: unknown): void {
    if (!(error instanceof HoldfastError) || error.code !== "FUNCTION_TAKEN") throw error;
    this.#parts.log("error", error.message, { code: error.code });
  }

  async #save(apps: readonly AppRecord[], startedMs?: number): Promise<void> {
    const appIds = apps.map((app) => app.id);
    const { clock, settings } = this.#parts;
    const stored = await this.#store.saveApps(apps, {
      trustsSilence: this.#silence.isTrusted,
      ...(startedMs === undefined ? {} : { startedAgoMs: clock.monotonicMs() - startedMs }),
      ...(settings.awayMs === undefined ? {} : { awayMs: settings.awayMs }),
    });
    const before = stored.map(({ slug }) => this.#stored.get(slug));
    if (JSON.stringify(before) === JSON.stringify(stored)) return;
    this.#put(await this.#store.loadRegistry());
    await this.#store.saveCrons(appIds, stored, this.#crons(new Set(appIds)));
    this.#parts.adoptions.review(this.#limited, this.#version);
  }

  /** One after the other: what was read before a save must not replace what the save brought. */
  #inTurn(task: () => Promise<void>): Promise<void> {
    const mine = this.#last.then(task, task);
    this.#last = mine;
    return mine;
  }

  /** Functions that an event triggers: those of its environment. */
  triggeredBy(environment: string, eventName: string, reader: EventReader): readonly KnownFunction[] {
    return this.#candidates(environment, eventName).filter(({ settings }) => isTriggered(settings, eventName, reader));
  }

  /** Those that it triggers whatever it holds; null: that depends on what it holds. */
  triggeredForCertain(environment: string, eventName: string): readonly KnownFunction[] | null {
    const candidates = this.#candidates(environment, eventName);
    return candidates.every(({ settings }) => isAlwaysTriggered(settings, eventName)) ? candidates : null;
  }

  /** As `triggeredBy`; between conditions that take long others have their turn. */
  async triggeredInTurns(
    environment: string,
    eventName: string,
    reader: EventReader,
  ): Promise<readonly KnownFunction[]> {
    const triggered: KnownFunction[] = [];
    for (const fn of this.#candidates(environment, eventName)) {
      if (reader.mustYield) await reader.yieldTurn();
      if (isTriggered(fn.settings, eventName, reader)) triggered.push(fn);
    }
    return triggered;
  }

  #candidates(environment: string, eventName: string): readonly KnownFunction[] {
    const key = qualify(environment, eventName);
    let known = this.#matches.get(key);
    if (!known) {
      known = this.#withTrigger(environment, eventName);
      if (this.#matches.size >= 1000) this.#matches.clear();
      this.#matches.set(key, known);
    }
    return known;
  }

  /** Whether some function has a trigger for events of this name. */
  mayTrigger(environment: string, eventName: string): boolean {
    const key = qualify(environment, eventName);
    const known = this.#triggering.get(key);
    if (known !== undefined) return known;
    const found = this.#withTrigger(environment, eventName).length > 0;
    this.#triggering.set(key, found);
    return found;
  }

  #withTrigger(environment: string, eventName: string): KnownFunction[] {
    return [...this.#byId.values()].filter(
      (fn) =>
        fn.environment === environment &&
        fn.settings.triggers.some((trigger) => trigger.type === "event" && eventMatches(trigger.pattern, eventName)),
    );
  }

  /** The next ticks of all schedules of these apps. */
  #crons(appIds: ReadonlySet<string>): RegisteredCron[] {
    const ofApps = [...this.#byId.values()].filter(({ appId }) => appIds.has(appId));
    return cronsOf(ofApps, (functionId) => this.#stored.get(functionId)?.triggersJson ?? "", this.#parts);
  }

  #put({ version, functions, deployments, controls, graphs }: StoredRegistry): void {
    const next = new Map<string, KnownFunction>();
    for (const fn of functions) next.set(fn.slug, this.#knownAs(fn));
    this.#byId = next;
    this.#limited = [...next.values()].flatMap((fn) => (fn.limits ? [{ functionId: fn.id, lane: fn.onlyLane }] : []));
    this.#stored = new Map(functions.map((fn) => [fn.slug, fn]));
    this.#version = version;
    this.#saved.clear();
    this.#deployments = deployments;
    this.#queues.read(next.values(), deployments);
    this.#versions.clear();
    this.#triggering.clear();
    this.#matches.clear();
    this.controls.read(controls);
    this.graphs.read(graphs);
  }

  /** Mostly it is what it was before. */
  #knownAs(fn: StoredFunction): KnownFunction {
    const known = this.#byId.get(fn.slug);
    const before = this.#stored.get(fn.slug);
    return known && before && isSame(before, fn) ? known : knownFunction(fn, this.#settingsOf(fn));
  }

  /** What was registered was checked; what an older gateway took may not pass. */
  #settingsOf(fn: StoredFunction): FunctionSettings {
    try {
      const plan = readFunctionSettings(fn.slug, JSON.parse(fn.triggersJson), JSON.parse(fn.configJson));
      return fn.active ? plan : { ...plan, triggers: [] };
    } catch (error) {
      this.#parts.log("error", `${messageOf(error)} Its triggers are disabled until it is registered again.`, {
        functionId: fn.slug,
      });
      return NO_SETTINGS;
    }
  }
}

/** Of thousands with every change, so they are compared as they are and not as JSON. */
const isSame = (one: StoredFunction, other: StoredFunction): boolean =>
  one.uuid === other.uuid &&
  one.appId === other.appId &&
  one.appVersion === other.appVersion &&
  one.active === other.active &&
  one.name === other.name &&
  one.triggersJson === other.triggersJson &&
  one.configJson === other.configJson;

function knownFunction(fn: StoredFunction, plan: FunctionSettings): KnownFunction {
  const { slug: id, uuid, appId, appVersion, active, configJson } = fn;
  const ours = readRunOptions(configJson);
  const environment = environmentOf(id);
  const plain = isPlain(plan);
  const [limits, onlyLane] = [limitsOf(plan), onlyLaneOf(id, plan)];
  return { id, environment, uuid, active, appId, appVersion, settings: plan, plain, limits, onlyLane, ...ours };
}

const fingerprints = new WeakMap<AppRecord, string>();

/** Of a session's app once, however often the session is looked at. */
function fingerprint(app: AppRecord): string {
  const known = fingerprints.get(app);
  if (known !== undefined) return known;
  const made = sha256(JSON.stringify(app)).toString("hex");
  fingerprints.set(app, made);
  return made;
}
