/**
 * Says why a run waits: gathers what is known of its jobs, its queue and the workers here and at other gateways, for
 * `../admission/why-run-waits.ts`. Asked for by people only.
 */
import { type JobView, plainName, type RunDetail } from "@holdfast/store";
import type { Admission } from "../admission/admission.ts";
import { type RunWaiting, whyRunWaits } from "../admission/why-run-waits.ts";
import type { DatabaseTime } from "../database-time.ts";
import type { DispatcherOptions } from "../ports.ts";
import type { Functions } from "../registry/functions.ts";
import type { Workers } from "../workers/workers.ts";
import { Versions, versionName } from "./versions.ts";

export interface WaitingRunsParts {
  readonly workers: Workers;
  readonly functions: Functions;
  readonly admission: Admission;
  readonly time: DatabaseTime;
}

export class WaitingRuns {
  readonly #options: DispatcherOptions;
  readonly #parts: WaitingRunsParts;
  readonly #versions: Versions;

  constructor(options: DispatcherOptions, parts: WaitingRunsParts) {
    this.#options = options;
    this.#parts = parts;
    this.#versions = new Versions(options);
  }

  /** Null when it does not wait for a worker: it is over, or at one, or waits for a time or something from outside. */
  async whyWaits({ head, jobs }: RunDetail): Promise<RunWaiting | null> {
    const { workers, functions, admission, time } = this.#parts;
    const { clock, settings } = this.#options;
    const { functionId, appId, appVersion } = head;
    const isHeld = ({ leasedBy, availableMs }: JobView): boolean => leasedBy !== null && availableMs > time.nowMs();
    const waiting = jobs.filter((job) => (job.kind === "pass" || job.kind === "step") && !isHeld(job));
    if (head.endedMs !== null || waiting.length === 0) return null;
    const elsewhere = await this.#versions.elsewhere();
    const known = functions.versionsOf(functionId);
    const versions = (known.includes(appVersion) ? known : [...known, appVersion]).map((version) => {
      const queue = functions.queueOf(functionId, version);
      const name = versionName(appId, version);
      return {
        version,
        queue,
        isConnected: workers.connects(functionId, version) || elsewhere?.connects(name, queue) === true,
        isOpen: workers.hasVersion(functionId, version) || elsewhere?.takes(name, queue) === true,
      };
    });
    const dueMs = Math.min(...waiting.map(({ availableMs }) => availableMs));
    const admittance = admission.mayStart({ at: "CLAIM", functionId });
    return whyRunWaits({
      dueMs,
      dueInMs: Math.max(0, dueMs - time.nowMs()),
      appId: plainName(appId),
      // Also one that has told nothing of it yet.
      begunBy: head.startedMs === null && waiting.every(({ isUnplaced }) => isUnplaced) ? null : appVersion,
      versionPolicy: settings.versionPolicy,
      versions,
      hasRoom: workers.roomByVersion([functionId], clock.monotonicMs(), 1).some(({ limit }) => limit > 0),
      isLimited: functions.get(functionId)?.limits != null,
      isDraining: !admittance.may && admittance.why === "GATEWAY_DRAINING",
      isPaused: !admittance.may && admittance.why === "FUNCTION_PAUSED",
    });
  }
}
