/**
 * Decides which worker, of which version of its app, gets a claimed job, and puts off what none here may have
 * (docs/decisions/0032).
 */
import { messageOf } from "@holdfast/core";
import { type PinOptions, type RunState, readRunOptions } from "@holdfast/engine";
import { type LeaseRelease, levelFor } from "@holdfast/store";
import type { Admission } from "../admission/admission.ts";
import type { Waiting } from "../admission/may-start.ts";
import { versionsToBegin } from "../admission/rollout.ts";
import type { DispatcherOptions } from "../ports.ts";
import type { Functions } from "../registry/functions.ts";

import type { RunCache } from "../run-cache.ts";
import type { ConnectedWorker } from "../workers/connected-worker.ts";
import type { Dispatches } from "../workers/dispatches.ts";
import type { Workers } from "../workers/workers.ts";
import type { LeasedClaim } from "./claims.ts";
import type { RunUpdater } from "./run-updater.ts";
import { Versions, versionName } from "./versions.ts";

/**
 * How long work is put off that waits for a worker of its version: one is connected, but has no room or is elsewhere
 * ...
 */
const HOLD_MS = 10_000;
/** ... or none is. One that connects meanwhile gets it at once. */
const HOLD_WITHOUT_WORKER_MS = 60_000;

export interface PlacementParts {
  readonly runs: RunCache;
  readonly workers: Workers;
  readonly admission: Admission;
  readonly dispatches: Dispatches;
  readonly updater: RunUpdater;
  readonly functions: Functions;
}

/** After the connections of other gateways could not be read. */
const HOLD_UNREAD_MS = 1_000;

/**
 * Gives claimed jobs to workers.
 *
 * PLACE-1. The first pass of a run goes to the newest version of its function that is connected anywhere, whichever it
 *     was made for; under a rollout to the version that this gives it, if that is connected (START-6). To an older one it goes only when it has waited as long as the policy says (`Admission`).
 * PLACE-2. The version that begins a run is written down before it does; the run has that version's options.
 * PLACE-3. From then on it stays with that version, as the policy says.
 */
export class Placement {
  readonly #options: DispatcherOptions;
  readonly #parts: PlacementParts;
  readonly #versions: Versions;
  readonly #onHeld: (functionId: string) => void;

  constructor(options: DispatcherOptions, parts: PlacementParts, onHeld: (functionId: string) => void) {
    this.#options = options;
    this.#parts = parts;
    this.#onHeld = onHeld;
    this.#versions = new Versions(options);
  }

  /** The caller retains the run during this call. */
  place(job: LeasedClaim, state: RunState): void {
    const { admission, workers, dispatches } = this.#parts;
    const { clock, log } = this.#options;
    const { functionId } = job;
    if (job.kind === "pass" && job.iteration === 1 && job.unplacedMs !== null) return this.#placeFirst(job, state);
    const admittance = admission.mayStart({ at: "BEGUN_RUN", functionId, version: state.appVersion });
    if (!admittance.may) return this.#holdAsAdmitted(job, admittance);
    const { version } = admittance;
    const worker = workers.reserve(job.functionId, clock.monotonicMs(), version);
    if (worker) dispatches.start(job, job.epoch, worker, state, job.leasedAt);
    else if (version === null) this.#giveBack(job);
    else if (workers.hasVersion(job.functionId, version)) this.#holdJob(job, HOLD_MS);
    else {
      this.#whileRetained(job, this.#placeElsewhere(job, state));
      log("debug", `Run ${job.runId} belongs to version "${version}" of its app, which is not connected here.`, {
        runId: job.runId,
        functionId,
      });
    }
  }

  /** No worker has started the run. */
  #placeFirst(job: LeasedClaim, state: RunState): void {
    const { workers, functions } = this.#parts;
    const rollout = functions.controls.rolloutOf(state.appId);
    const versions = versionsToBegin(functions.versionsOf(job.functionId), rollout, job.runId);
    const [newest] = versions;
    if (newest !== undefined && workers.connects(job.functionId, newest)) this.#placeOnVersion(job, state, newest);
    else this.#whileRetained(job, this.#placeOnNewest(job, state, versions));
  }

  /** The newest that is known is not here: it may be elsewhere, or gone. */
  async #placeOnNewest(job: LeasedClaim, state: RunState, versions: readonly string[]): Promise<void> {
    const elsewhere = await this.#versions.elsewhere();
    const { functionId } = job;
    if (!elsewhere) return this.#holdJob(job, HOLD_UNREAD_MS, versions[0]);
    const { workers, functions } = this.#parts;
    const isThere = (version: string): boolean =>
      workers.connects(functionId, version) ||
      elsewhere.connects(versionName(state.appId, version), functions.queueOf(functionId, version));
    // With the strict policy what a rollout gives to a version waits for it.
    const waits = this.#options.settings.versionPolicy === "strict" && functions.controls.rolloutOf(state.appId);
    this.#placeOnVersion(job, state, (waits ? versions[0] : versions.find(isThere)) ?? null);
  }

  /** Whether a rollout begins the run with this version, so that no other one may have it instead. */
  #isRolledOut({ functionId, runId }: LeasedClaim, { appId }: RunState, version: string | null): boolean {
    const { functions } = this.#parts;
    const rollout = functions.controls.rolloutOf(appId);
    return rollout !== null && versionsToBegin(functions.versionsOf(functionId), rollout, runId)[0] === version;
  }

  /** `wanted` = the newest version that is there; null: none that is known. */
  #placeOnVersion(job: LeasedClaim, state: RunState, wanted: string | null): void {
    const { admission, workers, dispatches } = this.#parts;
    const nowMs = this.#options.clock.monotonicMs();
    const { epoch, functionId, unplacedMs } = job;
    const waitedMs = unplacedMs ?? 0;
    const isRolledOut = this.#isRolledOut(job, state, wanted);
    const admittance = admission.mayStart({ at: "FIRST_PASS", functionId, newest: wanted, waitedMs, isRolledOut });
    if (!admittance.may) return this.#holdAsAdmitted(job, admittance);
    const spillInMs = admittance.anyVersionInMs ?? Number.POSITIVE_INFINITY;
    const mayBeAny = spillInMs === 0;
    const worker =
      workers.reserve(functionId, nowMs, wanted) ?? (mayBeAny ? this.#reserveOlder(functionId, nowMs) : undefined);
    if (worker) {
      const version = workers.versionOf(worker, functionId);
      if (version === state.appVersion) dispatches.start(job, epoch, worker, state, job.leasedAt);
      else this.#whileRetained(job, this.#pin(job, state, worker, version));
    } else if (wanted !== null && !mayBeAny && !workers.isOnly(functionId, wanted)) {
      this.#holdJob(job, Math.min(spillInMs, HOLD_MS), wanted);
    } else {
      // There is no room at all: who has some next claims it.
      const unplaced = { sinceMs: waitedMs, version: wanted ?? state.appVersion };
      this.#giveBack(job, { unplaced });
    }
  }

  /** The newer the better. */
  #reserveOlder(functionId: string, nowMs: number): ConnectedWorker | undefined {
    const { workers, functions } = this.#parts;
    for (const version of functions.versionsOf(functionId)) {
      const worker = workers.reserve(functionId, nowMs, version);
      if (worker) return worker;
    }
    return workers.reserve(functionId, nowMs, null);
  }

  async #pin(job: LeasedClaim, before: RunState, worker: ConnectedWorker, version: string): Promise<void> {
    const { workers, updater, dispatches, runs } = this.#parts;
    const fence = { jobId: job.id, epoch: job.epoch };
    let started = false;
    try {
      const options = this.#optionsOf(worker, job.functionId, before);
      const outcome = await updater.apply(job.runId, { type: "pin", jobId: job.id, version, options }, fence);
      const state = outcome === "won" ? await runs.load(job.runId) : null;
      if (!state) return;
      started = true;
      dispatches.start(job, job.epoch, worker, state, job.leasedAt);
    } finally {
      if (!started) workers.release(worker, job.functionId);
    }
  }

  /** As the worker's app has them. What cancels the run is left as it is where it would be the same. */
  #optionsOf(worker: ConnectedWorker, functionId: string, { appVersion }: RunState): PinOptions {
    const { workers, functions } = this.#parts;
    const before = functions.get(functionId);
    const config = workers.configOf(worker, functionId);
    const own = config === undefined && before ? before : readRunOptions(config ?? "{}");
    const { cancelRules, maxAttempts, deadlineInMs, finishInMs } = own;
    const options = { maxAttempts, deadlineInMs, finishInMs };
    const isSame =
      before?.appVersion === appVersion && JSON.stringify(before.cancelRules) === JSON.stringify(cancelRules);
    return isSame ? options : { ...options, cancelRules };
  }

  async #placeElsewhere(job: LeasedClaim, state: RunState): Promise<void> {
    const { admission, workers, dispatches, functions } = this.#parts;
    const { functionId } = job;
    const elsewhere = await this.#versions.elsewhere();
    const { appId, appVersion } = state;
    const isElsewhere =
      elsewhere?.takes(versionName(appId, appVersion), functions.queueOf(functionId, appVersion)) === true;
    const admittance = admission.mayStart({ at: "VERSION_MISSING", functionId, isElsewhere });
    if (!admittance.may) return this.#holdAsAdmitted(job, admittance);
    const worker = workers.reserve(functionId, this.#options.clock.monotonicMs(), admittance.version);
    if (worker) dispatches.start(job, job.epoch, worker, state, job.leasedAt);
    else this.#giveBack(job);
  }

  #holdAsAdmitted(job: LeasedClaim, waiting: Waiting): void {
    this.#holdJob(job, waiting.why === "VERSION" && !waiting.isElsewhere ? HOLD_WITHOUT_WORKER_MS : HOLD_MS);
  }

  /**
   * Puts work off that no worker here may take, so that it is not claimed again and again, and keeps no other work
   * waiting.
   */
  #holdJob(job: LeasedClaim, holdMs: number, version?: string): void {
    const { functionId, unplacedMs } = job;
    const unplaced = unplacedMs === null || version === undefined ? {} : { unplaced: { sinceMs: unplacedMs, version } };
    this.#giveBack(job, { holdMs, ...unplaced }, () => {
      this.#onHeld(functionId);
      this.#options.store.notify({ type: "JOBS_HELD", functionIds: [functionId] });
    });
  }

  /** No worker has had it: it is as if it had not been claimed. */
  #giveBack(
    { id: jobId, epoch, paced }: LeasedClaim,
    how: Pick<LeaseRelease, "holdMs" | "unplaced"> = {},
    onEnded: () => void = () => {},
  ): void {
    this.#parts.dispatches.release([{ jobId, epoch, lost: false, paced, ...how }], onEnded);
  }

  #whileRetained(job: LeasedClaim, work: Promise<void>): void {
    const { runs } = this.#parts;
    runs.retain(job.runId);
    work
      .catch((error: unknown) => {
        // Its lease ends, and another gateway claims it again.
        this.#options.log(
          levelFor(error, "warn"),
          `Run ${job.runId} could not be dispatched to a worker: ${messageOf(error)}`,
          { runId: job.runId, functionId: job.functionId },
        );
      })
      .finally(() => runs.release(job.runId));
  }
}
