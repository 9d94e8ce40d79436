/**
 * What people do with runs that went wrong: run them again, fork them from a step, let them go on (docs/decisions/0081).
 * What of a log is kept or dropped is decided in packages/engine; here it is read, checked and stored.
 */
import { HoldfastError, type UlidFactory, unreachable } from "@holdfast/core";
import { forkOf, isEnded, type RunMeta, readRunCreated, resumePlan, stepKeyIn, stepNamesIn } from "@holdfast/engine";
import { isRefusedForData, type LogRow, plainName, type RunStatus, type StoredRun } from "@holdfast/store";
import type { DispatcherOptions } from "../ports.ts";
import type { DecideOutcome } from "../queue/decide-outcome.ts";
import type { RunUpdater } from "../queue/run-updater.ts";
import type { KnownFunction } from "../registry/functions.ts";
import type { RunCache } from "../run-cache.ts";
import { Deletions } from "./deletions.ts";
import { type StartAgainParts, startAgain } from "./start-again.ts";

/** On which version of its app a run goes on: the newest there is, the one that the first run had, or one by name. */
export type WantedVersion =
  | { readonly type: "newest" }
  | { readonly type: "same" }
  | { readonly type: "named"; readonly version: string };

export const NEWEST: WantedVersion = { type: "newest" };

export interface RerunOptions {
  readonly version?: WantedVersion;
  /** Of the new run; a second call with it makes no second run. */
  readonly newRunId?: string;
}

export interface ForkOptions extends RerunOptions {
  /** The step from which the new run goes on by itself, as its author calls it, or its hashed id. */
  readonly step: string;
  /** What the step gives, JSON text; null: it is done again. */
  readonly resultText: string | null;
}

export interface RepairsParts extends StartAgainParts {
  readonly runs: RunCache;
  readonly updater: RunUpdater;
  readonly newId: UlidFactory;
}

/** How often the registry, or the run, may change meanwhile. */
const TRIES = 16;
const SHOWN_STEPS = 20;

export class Repairs {
  readonly deletions: Deletions;
  readonly #options: DispatcherOptions;
  readonly #parts: RepairsParts;

  constructor(options: DispatcherOptions, parts: RepairsParts) {
    this.deletions = new Deletions(options, parts);
    this.#options = options;
    this.#parts = parts;
  }

  /**
   * Makes a new run of the same function and the same events. Returns its id.
   * @throws HoldfastError `NOT_FOUND`, `FUNCTION_UNKNOWN`, `RUN_SKIPPED`, `BODY_INVALID`, `STORE_FAILED`
   */
  async rerun(runId: string, options: RerunOptions = {}): Promise<string> {
    const origin = await this.#read(runId);
    return this.#startAgain(origin, { rerunOf: runId }, [], options);
  }

  /**
   * Makes a new run that keeps what had ended before a step, and goes on from there. Returns its id.
   * @throws HoldfastError as `rerun`, and `STEP_UNKNOWN`, `RUN_UNDONE`, `RUN_NOT_ENDED`, `RUN_TOO_LARGE`
   */
  async fork(runId: string, options: ForkOptions): Promise<string> {
    const origin = await this.#read(runId);
    const { step, resultText } = options;
    const key = stepKeyIn(origin.log, step);
    const fork = key === null ? null : forkOf(origin.log, key, resultText);
    if (!fork?.ok) {
      if (fork?.why === "undone") throw undone(runId, fork.step, `It would be kept by a fork from "${step}"`);
      throw unknownStep(runId, step, stepNamesIn(origin.log));
    }
    const [first] = fork.undoable;
    if (first !== undefined && !isEnded(origin.head.status)) {
      const why = `Run ${runId} has not ended, and may undo step "${first}" itself, which the fork would keep.`;
      throw new HoldfastError("RUN_NOT_ENDED", `${why} Cancel it first.`);
    }
    this.#checkSize(origin, fork.rows, fork.steps);
    return this.#startAgain(origin, { forkedFrom: { runId, step } }, fork.rows, options);
  }

  /**
   * Lets a run that failed or was cancelled go on: finished steps stay, what failed gets new attempts.
   * @throws HoldfastError `NOT_FOUND`, `RUN_NOT_RESUMABLE`, `RUN_UNDONE`, `FUNCTION_UNKNOWN`, `BODY_INVALID`, `STORE_FAILED`
   */
  async resume(runId: string, version: WantedVersion = NEWEST): Promise<void> {
    await this.#resume(runId, version, Number.POSITIVE_INFINITY);
  }

  /** As `resume`; false: it has ended later than that, or has not ended, and is left alone. */
  resumeEndedBefore(runId: string, endedMs: number, version: WantedVersion): Promise<boolean> {
    return this.#resume(runId, version, endedMs);
  }

  /** Makes a failed run try again what it could not undo. `nothing`: there is nothing of the kind. */
  async retryCompensations(runId: string): Promise<DecideOutcome> {
    const { runs, updater } = this.#parts;
    runs.retain(runId);
    try {
      return await updater.apply(runId, { type: "revive" }, null);
    } finally {
      runs.release(runId);
    }
  }

  async #resume(runId: string, version: WantedVersion, latestMs: number): Promise<boolean> {
    const { runs, updater } = this.#parts;
    const isLate = (endedMs: number | null): boolean =>
      latestMs !== Number.POSITIVE_INFINITY && (endedMs === null || endedMs > latestMs);
    runs.retain(runId);
    try {
      for (let tries = 0; tries < TRIES; tries += 1) {
        const stored = await this.#read(runId);
        const { head, log } = stored;
        if (isLate(head.endedMs)) return false;
        if (head.status !== "FAILED" && head.status !== "CANCELLED") throw notResumable(head.id, head.status);
        const plan = resumePlan(log);
        if (!plan.ok) throw undone(runId, plan.step, "What the run did later rests on it");
        const fn = await this.#functionOf(stored);
        const appVersion = this.#versionOf(stored, fn, version) ?? fn.appVersion;
        const { maxAttempts, deadlineInMs, finishInMs, cancelRules } = fn;
        const options = { maxAttempts, deadlineInMs, finishInMs, cancelRules };
        const { dropped } = plan;
        // What this gateway has of it may be older than what was read.
        runs.forget(runId);
        const input = { type: "resume", headVersion: head.version, dropped, appVersion, options } as const;
        if ((await updater.apply(runId, input, null)) === "won") return true;
      }
    } finally {
      runs.release(runId);
    }
    throw new HoldfastError("STORE_FAILED", `Run ${runId} kept changing while it was to be resumed. Retry.`);
  }

  async #read(runId: string): Promise<StoredRun> {
    const [run] = await this.#options.store.loadRuns([runId]);
    if (!run) throw new HoldfastError("NOT_FOUND", `There is no run ${runId}.`);
    return run;
  }

  async #startAgain(
    origin: StoredRun,
    meta: Pick<RunMeta, "rerunOf" | "forkedFrom">,
    kept: readonly LogRow[],
    { version = NEWEST, newRunId = this.#parts.newId() }: RerunOptions,
  ): Promise<string> {
    const { head, log } = origin;
    // Of a call that is repeated, since its answer was lost.
    if (await this.#isMade(newRunId)) return newRunId;
    const created = log.find(({ kind }) => kind === "RUN_CREATED");
    const { eventText, moreText, meta: first } = readRunCreated(created?.dataJson ?? '{"run":{},"event":null}');
    const graph = (await this.#options.store.graphRuns([head.id])).get(head.id);
    const ofGraph = { ...(graph ? { graph } : {}), ...(first.spreads ? { spreads: true } : {}) };
    const event = { id: head.eventId, name: head.eventName, tsMs: 0, payloadJson: eventText };
    const more = moreText === "" ? [] : [moreText];
    for (let tries = 0; tries < TRIES; tries += 1) {
      const fn = await this.#functionOf(origin);
      const appVersion = this.#versionOf(origin, fn, version);
      const again = { event, more, origin: { runId: newRunId, meta, kept }, ...ofGraph };
      const wanted = appVersion === null ? again : { ...again, appVersion };
      const outcome = await startAgain(this.#options.store, this.#parts, fn, wanted).catch(async (error: unknown) => {
        if (isRefusedForData(error) && (await this.#isMade(newRunId))) return "made" as const;
        throw error;
      });
      if (outcome === "made") return newRunId;
      if (outcome === "skipped") throw skipped(fn);
    }
    throw new HoldfastError("STORE_FAILED", "The registered functions kept changing during the write. Retry.");
  }

  async #isMade(newRunId: string): Promise<boolean> {
    return (await this.#options.store.getRun(newRunId)) !== null;
  }

  /** What another gateway learned a moment ago may not be known here yet. */
  async #functionOf({ head }: StoredRun): Promise<KnownFunction> {
    const { functions } = this.#parts;
    if (!functions.get(head.functionId)?.active) await functions.load();
    const fn = functions.get(head.functionId);
    if (fn?.active) return fn;
    const what = `No app has the function "${plainName(head.functionId)}" any more`;
    throw new HoldfastError("FUNCTION_UNKNOWN", `${what}: connect a worker that has it, then try again.`);
  }

  /** Null: the newest. */
  #versionOf({ head }: StoredRun, fn: KnownFunction, wanted: WantedVersion): string | null {
    switch (wanted.type) {
      case "newest":
        return null;
      case "same":
        return head.appVersion;
      case "named": {
        const known = this.#parts.functions.versionsOf(fn.id);
        if (known.includes(wanted.version)) return wanted.version;
        const list = known.map((one) => JSON.stringify(one)).join(", ");
        const what = `App "${plainName(fn.appId)}" has no version ${JSON.stringify(wanted.version)} of the function`;
        throw new HoldfastError("BODY_INVALID", `${what}; known are: ${list === "" ? "none" : list}.`);
      }
      default:
        return unreachable(wanted);
    }
  }

  /** As large as a run may be. */
  #checkSize({ head, log }: StoredRun, rows: readonly LogRow[], steps: number): void {
    const { maxSteps, maxStateLength } = this.#options.settings;
    const created = log.find(({ kind }) => kind === "RUN_CREATED")?.dataJson.length ?? 0;
    const length = rows.reduce((sum, { dataJson }) => sum + dataJson.length, created);
    if (steps <= maxSteps && length <= maxStateLength) return;
    const limits = `${maxSteps} steps and ${maxStateLength} characters`;
    const what = `With the given result a fork of run ${head.id} has ${steps} steps and ${length} characters`;
    throw new HoldfastError("RUN_TOO_LARGE", `${what}; the limits of a run are ${limits}.`);
  }
}

function unknownStep(runId: string, step: string, names: readonly string[]): HoldfastError {
  const shown = names.slice(0, SHOWN_STEPS).map((name) => JSON.stringify(name));
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : "";
  const has = names.length === 0 ? "It has none." : `It has ${shown.join(", ")}${more}.`;
  return new HoldfastError("STEP_UNKNOWN", `Run ${runId} has no step "${step}" on record. ${has}`);
}

function undone(runId: string, step: string, why: string): HoldfastError {
  const what = `Step "${step}" of run ${runId} was undone, or its undoing had begun. ${why}.`;
  return new HoldfastError("RUN_UNDONE", `${what} Fork the run from "${step}" or from an earlier step.`);
}

function notResumable(runId: string, status: RunStatus): HoldfastError {
  const hint = status === "COMPLETED" ? "Run it again, or fork it from a step" : "It goes on by itself";
  const what = `Run ${runId} is ${status}: only one that is FAILED or CANCELLED can be resumed`;
  return new HoldfastError("RUN_NOT_RESUMABLE", `${what}. ${hint}.`);
}

function skipped({ id, settings }: KnownFunction): HoldfastError {
  const rules = [
    ...(settings.singleton ? ["its singleton, of which a run has not ended"] : []),
    ...(settings.rateLimits.some(({ name }) => name === "rate") ? ["its rate limit"] : []),
  ];
  const why = `Function "${plainName(id)}" starts no run now, because of ${rules.join(" or ")}`;
  return new HoldfastError("RUN_SKIPPED", `${why}. Try again later.`);
}
