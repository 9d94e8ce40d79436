/**
 * Says why runs wait: gathers what is known of their jobs, their queue and the workers here and at other gateways, for
 * `../admission/why-run-waits.ts`. Asked for by people, and by the sweep that looks for orphans.
 */
import { coalesced } from "@holdfast/core";
import { type EventReader, eventMatches, readRunCreated, seenText } from "@holdfast/engine";
import {
  type EventView,
  environmentOf,
  type ListedConnection,
  type OpenJob,
  type OpenRun,
  type PlacesTaken,
  plainName,
  type QueuePlace,
  type RunDetail,
  type Store,
} from "@holdfast/store";
import type { Admission } from "../admission/admission.ts";
import { closedWorkers } from "../admission/closed-workers.ts";
import { versionsToBegin } from "../admission/rollout.ts";
import type { LimitFacts, RunWaiting, ThrottleFacts, WaitingFacts } from "../admission/waiting-facts.ts";
import { readWaitingSteps } from "../admission/waiting-steps.ts";
import { type CollectedEvent, whyCollected } from "../admission/why-collected.ts";
import { whyRunWaits } from "../admission/why-run-waits.ts";
import type { DatabaseTime } from "../database-time.ts";
import type { Starter } from "../events/starter.ts";
import type { DispatcherOptions } from "../ports.ts";
import type { Functions, KnownFunction } from "../registry/functions.ts";
import type { Dispatches } from "../workers/dispatches.ts";
import type { Stalls } from "../workers/stalls.ts";
import type { Workers } from "../workers/workers.ts";
import { holderOf } from "./holder-of.ts";
import { lastStepOf, runningSteps, type StepAtWork } from "./running-steps.ts";
import { Elsewhere, SILENT_MS, versionName } from "./versions.ts";

export interface WaitingRunsParts {
  readonly workers: Workers;
  readonly functions: Functions;
  readonly admission: Admission;
  readonly time: DatabaseTime;
  readonly dispatches: Dispatches;
  readonly stalls: Pick<Stalls, "newestOf">;
  readonly starter: Pick<Starter, "reader">;
}

/** What was read beside the runs themselves, at about the same time. */
export interface AroundRuns {
  readonly nowMs: number;
  readonly connections: readonly ListedConnection[];
  readonly places: PlacesTaken;
}

/** Of a run whose log was read. */
export interface KnownOfRun {
  readonly event: EventReader | null;
  /** The step whose result was stored last. */
  readonly lastStep: string | null;
}

const FIRST: QueuePlace = { ahead: 0, pacedAhead: 0 };

const NOTHING_KNOWN: KnownOfRun = { event: null, lastStep: null };

type AskedPlaces = Parameters<Store["placesTaken"]>[0];

const WHY_LIMITS = { atOnce: 2, most: 50 };

export class WaitingRuns {
  readonly #options: DispatcherOptions;
  readonly #parts: WaitingRunsParts;
  /** Callers that ask at the same time share statements. */
  readonly #whyOne = coalesced(WHY_LIMITS, (runs: readonly RunDetail[]) => this.#whyEach(runs));

  constructor(options: DispatcherOptions, parts: WaitingRunsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Why a run that has not ended is where it is; null when it has ended. */
  async whyWaits(run: RunDetail): Promise<RunWaiting | null> {
    return run.head.endedMs === null ? this.#whyOne(run) : null;
  }

  /** Its steps that are at work, the oldest first. */
  runningSteps(run: RunDetail): StepAtWork[] {
    const { clock } = this.#options;
    const now = { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
    return runningSteps(run, this.#parts.dispatches, { ...now, lastStep: lastStepOf(run.log) });
  }

  async #whyEach(runs: readonly RunDetail[]): Promise<(RunWaiting | null)[]> {
    const byId = new Map(runs.map((run) => [run.head.id, run]));
    const why = await this.whyWait([...byId.keys()], (runId) => {
      const log = byId.get(runId)?.log ?? [];
      const created = log.find(({ kind }) => kind === "RUN_CREATED");
      const eventText = created && readRunCreated(created.dataJson).eventText;
      const event = eventText === undefined ? null : this.#parts.starter.reader(() => seenText(eventText));
      return { event, lastStep: lastStepOf(log) };
    });
    return runs.map(({ head }) => why.get(head.id) ?? null);
  }

  /**
   * Of each of these runs that has not ended; null = nothing moves it on. `knownOf` gives what is known of a run beside
   * that: with its event the keys of limits are named with their values.
   */
  async whyWait(
    runIds: readonly string[],
    knownOf: (runId: string) => KnownOfRun = () => NOTHING_KNOWN,
  ): Promise<Map<string, RunWaiting | null>> {
    const { store } = this.#options;
    const runs = await store.openRuns(runIds);
    if (runs.length === 0) return new Map();
    const asked = this.placesOf(runs);
    const [nowMs, connections, places] = await Promise.all([
      store.nowMs(),
      store.listConnections(),
      store.placesTaken(asked),
    ]);
    this.#parts.time.observe(nowMs);
    const around = { nowMs, connections, places };
    return new Map(runs.map((run) => [run.head.id, this.reasonOf(run, asked, around, knownOf(run.head.id))]));
  }

  /** Of an event that functions collect with others: what it waits for with each of them. */
  async whyCollected({ id, name }: Pick<EventView, "id" | "name">): Promise<CollectedEvent[]> {
    const environment = environmentOf(name);
    const collecting = [...this.#parts.functions.all()].filter(
      (fn) =>
        fn.environment === environment &&
        (fn.settings.debounce !== null || fn.settings.batch !== null) &&
        (isInvocation(name) || listensTo(fn, plainName(name))),
    );
    if (collecting.length === 0) return [];
    const { store } = this.#options;
    const [windows, nowMs] = await Promise.all([store.openWindows(collecting.map((fn) => fn.id)), store.nowMs()]);
    return windows
      .filter(({ eventIds }) => eventIds.includes(id))
      .map((window) => {
        const maxSize = this.#parts.functions.get(window.functionId)?.settings.batch?.maxSize ?? null;
        return whyCollected({ window, maxSize, nowMs });
      });
  }

  /** What is to be asked about the places that these runs want. */
  placesOf(runs: readonly OpenRun[]): AskedPlaces {
    const jobs = runs.flatMap((run) =>
      run.jobs.filter(isForWorkers).map((job) => ({ ...job, functionId: run.head.functionId })),
    );
    const open = jobs.filter(({ leasedBy }) => leasedBy === null);
    const throttles = new Map(
      open.flatMap(({ functionId, throttle }) =>
        throttle === null ? [] : [[`${functionId}\n${throttle}`, { functionId, key: throttle }] as const],
      ),
    );
    return {
      slots: [...new Set(open.flatMap(({ slots }) => slots))],
      throttles: [...throttles.values()],
      ahead: open.map(({ id }) => id),
      functionIds: [...new Set(open.map(({ functionId }) => functionId))],
    };
  }

  /** From what was read; asks nothing. */
  reasonOf(run: OpenRun, asked: AskedPlaces, around: AroundRuns, known: KnownOfRun = NOTHING_KNOWN): RunWaiting | null {
    return whyRunWaits(this.#factsOf(run, asked, around, known));
  }

  #factsOf(
    run: OpenRun,
    asked: AskedPlaces,
    { nowMs, connections, places }: AroundRuns,
    { event, lastStep }: KnownOfRun,
  ): WaitingFacts {
    const { workers, functions, admission } = this.#parts;
    const { clock, settings } = this.#options;
    const { functionId, appVersion, startedMs } = run.head;
    const fn = functions.get(functionId);
    const work = run.jobs.filter(isForWorkers);
    const job = work.find(({ leasedBy, availableMs }) => leasedBy === null || availableMs <= nowMs);
    const place = places.ahead[asked.ahead.indexOf(job?.id ?? "")] ?? FIRST;
    const admittance = admission.mayStart({ at: "CLAIM", functionId });
    return {
      nowMs,
      run,
      steps: readWaitingSteps(run.facts),
      holderOf: (held) => holderOf({ ...this.#parts, options: this.#options }, held, run, connections),
      // Also one that has said nothing of it yet.
      begunBy: startedMs === null && work.every(({ isUnplaced }) => isUnplaced) ? null : appVersion,
      versionPolicy: settings.versionPolicy,
      versions: this.#versionsOf(run, connections),
      closed: (versions) => this.#closedOf(run, versions, connections),
      rolledOut: this.#rolledOut(run),
      seenMs: places.seenMs[asked.functionIds.indexOf(functionId)] ?? null,
      hasRoom: workers.roomByVersion([functionId], clock.monotonicMs(), 1).some(({ limit }) => limit > 0),
      limits: fn && job ? limitsOf(fn, job, asked, places, event) : [],
      throttle: fn && job ? throttleOf(fn, job, asked, places, place.pacedAhead) : null,
      ahead: place.ahead,
      lastStep,
      isDraining: !admittance.may && admittance.why === "GATEWAY_DRAINING",
      hasNewLimits: !admittance.may && admittance.why === "LIMITS",
      leasingMs: this.#parts.dispatches.late.slow?.tookMs ?? null,
      pause: functions.controls.pauseOf(functionId),
    };
  }

  #rolledOut({ head }: OpenRun): string | null {
    const { functions } = this.#parts;
    const rollout = functions.controls.rolloutOf(head.appId);
    return rollout && (versionsToBegin(functions.versionsOf(head.functionId), rollout, head.id)[0] ?? null);
  }

  #versionsOf({ head }: OpenRun, connections: readonly ListedConnection[]): WaitingFacts["versions"] {
    const { workers, functions } = this.#parts;
    const { functionId, appId, appVersion } = head;
    const others = othersThan(connections, this.#options.settings.gatewayId);
    const elsewhere = new Elsewhere(others);
    const known = functions.versionsOf(functionId);
    return (known.includes(appVersion) ? known : [...known, appVersion]).map((version) => {
      const queue = functions.queueOf(functionId, version);
      const name = versionName(appId, version);
      const isOpenHere = workers.hasVersion(functionId, version);
      const open = others.filter((one) => new Elsewhere([one]).takes(name, queue));
      return {
        version,
        queue,
        isConnected: workers.connects(functionId, version) || elsewhere.connects(name, queue),
        isOpen: isOpenHere || open.length > 0,
        isOpenHere,
        elsewhereSilentMs: open.length === 0 ? null : Math.min(...open.map(({ silentMs }) => silentMs)),
      };
    });
  }

  #closedOf({ head }: OpenRun, versions: WaitingFacts["versions"], connections: readonly ListedConnection[]) {
    const { workers, functions } = this.#parts;
    const { gatewayId } = this.#options.settings;
    return closedWorkers(
      connections.filter((one) => one.gatewayId === gatewayId || one.silentMs < SILENT_MS),
      versions.map(({ version, queue }) => ({ name: versionName(head.appId, version), queue })),
      {
        isDrained: (environment, instanceId) => functions.controls.isDrained(environment, instanceId),
        isMainPaused: (connectionId) => workers.get(connectionId)?.partitionOf(head.functionId).isPaused ?? false,
      },
    );
  }
}

/** The event of a run that was asked for by the function's name. */
const isInvocation = (name: string): boolean => plainName(name) === "inngest/function.invoked";
const listensTo = (fn: KnownFunction, name: string): boolean =>
  fn.settings.triggers.some((trigger) => "pattern" in trigger && eventMatches(trigger.pattern, name));

const isForWorkers = ({ kind }: OpenJob): boolean => kind === "pass" || kind === "step";

const othersThan = (connections: readonly ListedConnection[], own: string): ListedConnection[] =>
  connections.filter(({ gatewayId, silentMs }) => gatewayId !== own && silentMs < SILENT_MS);

/** The first slots of a lane are those of its function's limits, in their order. */
function limitsOf(
  { settings }: KnownFunction,
  job: OpenJob,
  asked: AskedPlaces,
  places: PlacesTaken,
  event: EventReader | null,
): LimitFacts[] {
  return settings.concurrency.flatMap(({ limit, key }, index) => {
    const use = places.slots[asked.slots.indexOf(job.slots[index] ?? "")];
    if (!use) return [];
    return [{ limit, use, key: key === null ? null : event ? `${key} = ${event.text(key)}` : key }];
  });
}

function throttleOf(
  { id, limits, settings }: KnownFunction,
  job: OpenJob,
  asked: AskedPlaces,
  places: PlacesTaken,
  ahead: number,
): ThrottleFacts | null {
  if (!limits?.throttle || job.throttle === null) return null;
  const { everyMs, burst } = limits.throttle;
  const index = asked.throttles.findIndex(({ functionId, key }) => functionId === id && key === job.throttle);
  const atMs = places.throttles[index] ?? null;
  if (atMs === null) return null;
  return { nextMs: atMs - (burst - 1) * everyMs, everyMs, ahead, hasKey: (settings.throttle?.key ?? null) !== null };
}
