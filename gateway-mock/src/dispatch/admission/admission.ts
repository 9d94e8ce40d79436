/**
 * The one question before work is handed out: may it start? Claims, jobs leased on creation, new runs and recalled
 * holds all ask here; the rules themselves are pure (`may-start.ts`).
 */
import type { Clock } from "@holdfast/core";
import type { VersionPolicy } from "@holdfast/engine";

import type { ConnectedWorker } from "../workers/connected-worker.ts";
import type { Workers } from "../workers/workers.ts";
import type { Backlog } from "./backlog.ts";
import { type Admittance, mayStart, type Waiting, type Work, whyNoPlace } from "./may-start.ts";

export interface AdmissionParts {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly versionPolicy: VersionPolicy;
  readonly workers: Pick<Workers, "reserve" | "serves">;
  /** The queue of this version of the function. */
  readonly queueOf: (functionId: string, version: string) => string;
  readonly backlog: Pick<Backlog, "has">;
  /** Where pausing a function comes in: nothing of such a function is handed out. */
  readonly isPaused: (functionId: string) => boolean;
  /** Its jobs are being put into the lanes of new limits. */
  readonly hasNewLimits: (functionId: string) => boolean;
}

/** A place of a worker that is taken for the work. */
export interface Reserved {
  readonly may: true;
  readonly worker: ConnectedWorker;
}

/** The one question asked wherever work is handed out: may it start, and if not, what does it wait for? */
export class Admission {
  readonly #parts: AdmissionParts;
  #isDraining = false;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** From now on this gateway hands out no more work. */
  drain(): void {
    this.#isDraining = true;
  }

  mayStart(work: Work): Admittance {
    const { versionPolicy, backlog, isPaused, hasNewLimits } = this.#parts;
    const { functionId } = work;
    return mayStart(work, {
      versionPolicy,
      isDraining: this.#isDraining,
      isPaused: isPaused(functionId),
      hasNewLimits: hasNewLimits(functionId),
      hasBacklog: work.at === "NEW_RUN" && backlog.has(functionId),
    });
  }

  /** Takes a place for work that is to be leased on creation. With `mayWait` also where requests wait for room. */
  reserve(work: Extract<Work, { at: "NEW_RUN" | "NEXT_JOB" }>, mayWait = false): Reserved | Waiting {
    const admittance = this.mayStart(work);
    if (!admittance.may) return admittance;
    const { workers, clock, queueOf } = this.#parts;
    const { functionId } = work;
    const worker = workers.reserve(functionId, clock.monotonicMs(), admittance.version, mayWait);
    if (worker) return { may: true, worker };
    const version = work.at === "NEW_RUN" ? work.newestVersion : work.version;
    return whyNoPlace({ isServed: workers.serves(functionId), queue: queueOf(functionId, version) });
  }
}
