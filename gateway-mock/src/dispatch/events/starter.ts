/**
 * Decides which runs an event starts and whether their first pass is leased on creation to a worker here. `EventIntake`
 * stores what it makes.
 */
import { createUlidFactory, readClocks, type UlidFactory } from "@holdfast/core";
import {
  EventReader,
  type Expressions,
  type InternalEvent,
  PLAIN_START,
  type Start,
  type StartStage,
  startOf,
  startOfLink,
  type TriggerEvent,
} from "@holdfast/engine";
import type { GraphRunMark, IntakeRun, WindowEntry } from "@holdfast/store";

import type { Admission } from "../admission/admission.ts";
import { versionsToBegin } from "../admission/rollout.ts";
import type { DatabaseTime } from "../database-time.ts";
import type { LeasedJob } from "../dispatcher-effects.ts";
import type { DispatcherOptions } from "../ports.ts";
import type { Functions, KnownFunction } from "../registry/functions.ts";
import { type ConnectedWorker, leaseOf } from "../workers/connected-worker.ts";
import { newRun, type RunOrigin } from "./new-run.ts";

export interface StarterParts {
  readonly time: DatabaseTime;
  readonly expressions: Expressions;
  readonly admission: Admission;
  readonly functions: Pick<Functions, "controls" | "versionsOf">;
}

/** The first job of a run. */
export interface StartedJob extends LeasedJob {
  readonly run: IntakeRun;
}

/** Runs to be made of an event, places for some of them reserved. */
export interface Started {
  readonly runs: readonly IntakeRun[];
  readonly windows: readonly WindowEntry[];
  readonly leased: readonly StartedJob[];
}

export interface StartOptions {
  readonly invokes?: InternalEvent["invokes"];
  readonly stage?: StartStage;
  /** The graph that it runs. */
  readonly graph?: GraphRunMark;
  /** Its steps are jobs of their own. */
  readonly spreads?: boolean;
  /** Payloads of the other events of a batch. */
  readonly more?: readonly string[];
  /** Not before this instant. */
  readonly startMs?: number | null;
  /** It is made of another run; no worker is reserved for it. */
  readonly origin?: RunOrigin;
  /** See `newRun`. */
  readonly appVersion?: string;
  /** What the caller wants otherwise than the function says. */
  readonly asked?: AskedOptions;
}

/** What a run may have otherwise than its function says. */
export interface AskedOptions {
  /** After its creation, or its start if that is later. */
  readonly deadlineInMs?: number;
  readonly appVersion?: string;
  readonly priority?: number;
}

const NOTHING_ASKED: AskedOptions = {};

function optionsOf({ deadlineInMs, appVersion }: AskedOptions): Partial<KnownFunction> {
  return {
    ...(deadlineInMs === undefined ? {} : { deadlineInMs }),
    ...(appVersion === undefined ? {} : { appVersion }),
  };
}

const withPriority = (start: Start, priority: number): Start => ({
  ...start,
  flow: { slots: start.flow?.slots ?? [], priority },
});

const NOT_ROLLED_OUT = {};

/** Makes the runs that an event starts. */
export class Starter {
  readonly #options: DispatcherOptions;
  readonly #parts: StarterParts;
  readonly #newId: UlidFactory;

  constructor(options: DispatcherOptions, parts: StarterParts) {
    this.#options = options;
    this.#parts = parts;
    this.#newId = createUlidFactory(options.clock, options.random);
  }

  get expressions(): Expressions {
    return this.#parts.expressions;
  }

  /** `see` gives the event as expressions see it. */
  reader(see: () => unknown): EventReader {
    return new EventReader(see, this.#parts.expressions, this.#parts.time.nowMs());
  }

  /** What holds a run back: a run that goes on for another one has its place. */
  #startOf(fn: KnownFunction, reader: EventReader, stage: StartStage, invokes: StartOptions["invokes"]): Start {
    const { id, settings, plain } = fn;
    if (invokes?.continues) return startOfLink(id, settings, invokes.continues, this.#newId);
    return plain ? PLAIN_START : startOf(id, settings, reader, stage, this.#newId);
  }

  start(
    functions: readonly KnownFunction[],
    event: TriggerEvent,
    reader: EventReader,
    options: StartOptions = {},
  ): Started {
    const runs: IntakeRun[] = [];
    const windows: WindowEntry[] = [];
    const leased: StartedJob[] = [];
    const leasedAt = readClocks(this.#options.clock);
    const stage = options.invokes ? "invoked" : (options.stage ?? "event");
    const { asked = NOTHING_ASKED } = options;
    const appVersion = options.appVersion ?? asked.appVersion;
    for (const known of functions) {
      const fn = asked === NOTHING_ASKED ? known : { ...known, ...optionsOf(asked) };
      const usual = this.#startOf(fn, reader, stage, options.invokes);
      const start = asked.priority === undefined ? usual : withPriority(usual, asked.priority);
      if (start.window) {
        windows.push(start.window);
        continue;
      }
      const isLimited = start.lane !== null || start.flowRules.length > 0;
      const runId = options.origin?.runId ?? options.invokes?.runId ?? this.#newId();
      const rolledOut = appVersion === undefined ? this.#rolledOut(fn, runId) : NOT_ROLLED_OUT;
      const due = { isLimited, isDue: !options.startMs, ...rolledOut };
      const worker = options.origin ? undefined : this.#reserve(fn, due);
      const lease = worker ? leaseOf(worker, this.#options.settings.gatewayId) : null;
      const run = newRun({
        fn,
        event,
        reader,
        start,
        more: options.more ?? [],
        startMs: options.startMs ?? null,
        invokes: options.invokes ?? null,
        lease,
        newId: this.#newId,
        runId,
        origin: options.origin,
        graph: options.graph,
        spreads: options.spreads,
        appVersion,
        deadlineAsked: asked.deadlineInMs !== undefined,
      });
      const [job] = run.jobs;
      if (worker && job) leased.push({ run, job, worker, leasedAt });
      runs.push(run);
    }
    return { runs, windows, leased };
  }

  #rolledOut({ id, appId }: KnownFunction, runId: string): { readonly rolledOut?: string } {
    const { functions } = this.#parts;
    const rollout = functions.controls.rolloutOf(appId);
    if (!rollout) return NOT_ROLLED_OUT;
    const [rolledOut] = versionsToBegin(functions.versionsOf(id), rollout, runId);
    return rolledOut === undefined ? NOT_ROLLED_OUT : { rolledOut };
  }

  /** New runs begin on the newest version, or as a rollout says. Where that has no place here they queue up. */
  #reserve(
    { id: functionId, appVersion }: KnownFunction,
    how: { readonly isLimited: boolean; readonly isDue: boolean; readonly rolledOut?: string },
  ): ConnectedWorker | undefined {
    const work = { at: "NEW_RUN", functionId, newestVersion: appVersion, ...how } as const;
    const reserved = this.#parts.admission.reserve(work);
    return reserved.may ? reserved.worker : undefined;
  }
}
