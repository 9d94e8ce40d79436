/** What the reason of a run is made from, and how it is shown. `why-run-waits.ts` makes it; here is no logic. */
import type { StallMeta, VersionPolicy } from "@holdfast/engine";
import type { RunningStep } from "@holdfast/protocol";
import type { OpenJob, OpenRun, SlotUse } from "@holdfast/store";
import type { ClosedWorkers } from "./closed-workers.ts";
import type { Waiting } from "./may-start.ts";
import type { WaitingSteps } from "./waiting-steps.ts";

export type WaitingReason =
  | Waiting["why"]
  /** A worker is at it. */
  | "AT_WORK"
  /** It was sent to a worker that has not acknowledged it. */
  | "SENT"
  /** Its worker's connection is gone, and it may come back. */
  | "WORKER_DISCONNECTED"
  /** The worker or the gateway that has it has said nothing for a while. */
  | "LEASE_SILENT"
  /** Nothing holds it up: it is being handed out, or decided on. */
  | "STARTING"
  | "NO_WORKER"
  | "THROTTLED"
  | "RETRY"
  | "FETCHING"
  | "SLEEPING"
  | "EVENT"
  | "SIGNAL"
  | "CHILD_RUN";

/** As the API shows it. */
export interface RunWaiting {
  readonly reason: WaitingReason;
  readonly message: string;
  /** When it is over by itself at the latest, as far as that is known. */
  readonly untilMs: number | null;
  /** The step that it is about, as its author wrote it. */
  readonly step: string | null;
  /** Another run that it is about: the one that has the place, or the one that was invoked. */
  readonly runId: string | null;
  /** The worker that has it. */
  readonly instanceId: string | null;
}

/** Who has a leased job, as far as this gateway can say. */
export type Holder =
  /** `silentMs`: since the worker's last word about it. `lostMs`: since its connection ended; null = it is there. */
  | {
      readonly at: "here";
      readonly instanceId: string;
      readonly isAcked: boolean;
      readonly silentMs: number;
      readonly extendLeaseMs: number;
      readonly lostMs: number | null;
      /** Its steps that have been running for a while, oldest first, as the worker says. */
      readonly running: readonly RunningStep[];
      /** What blocks the main thread of its worker now, whichever run that is of; null: nothing that was reported. */
      readonly stall: (StallMeta & { readonly agoMs: number; readonly runId: string | null }) | null;
    }
  /** `instanceIds`: of the workers there that may have it. `silentMs`: since the gateway's last sign of life. */
  | { readonly at: "elsewhere"; readonly instanceIds: readonly string[]; readonly silentMs: number | null }
  /** This gateway has it, and it has not left for a worker yet. */
  | { readonly at: "gateway" };

/** One of its function's limits, as far as a job is counted by it. */
export interface LimitFacts {
  readonly limit: number;
  /** What it is counted by, with the value where that is known: `event.data.customer = 7`; null = all runs together. */
  readonly key: string | null;
  readonly use: SlotUse;
}

/** What a throttle says of a job whose run has not started. */
export interface ThrottleFacts {
  /** When it lets the next run start. */
  readonly nextMs: number;
  /** From one start to the next, once the burst is used up. */
  readonly everyMs: number;
  /** Due jobs that come first and are paced by the same. */
  readonly ahead: number;
  /** Runs are paced for each value of a key. */
  readonly hasKey: boolean;
}

export interface WaitingFacts {
  /** The database's time. */
  readonly nowMs: number;
  readonly run: OpenRun;
  readonly steps: WaitingSteps;
  readonly holderOf: (job: OpenJob) => Holder;
  /** The version that has begun it; null: none has. */
  readonly begunBy: string | null;
  readonly versionPolicy: VersionPolicy;
  /** The versions that have its function, the newest first, as they are connected here or at other gateways. */
  readonly versions: readonly {
    readonly version: string;
    readonly queue: string;
    /** A worker that serves the queue is connected. */
    readonly isConnected: boolean;
    /** One takes work. */
    readonly isOpen: boolean;
    /** One that takes work is connected to this gateway. */
    readonly isOpenHere: boolean;
    /** Of the gateways where others take work: how long ago the last of them gave a sign of life; null = none. */
    readonly elsewhereSilentMs: number | null;
  }[];
  /** Connected workers of these versions that take no new work now, here and at other gateways. */
  readonly closed: (versions: WaitingFacts["versions"]) => ClosedWorkers;
  /** The version that its app's rollout begins it with; null: there is no rollout. */
  readonly rolledOut: string | null;
  /** When a worker that has its function was seen last; null = never, or not asked. */
  readonly seenMs: number | null;
  /** A worker here would have room. */
  readonly hasRoom: boolean;
  readonly limits: readonly LimitFacts[];
  /** Null: it is not paced. */
  readonly throttle: ThrottleFacts | null;
  /** Due jobs of its function that come first. */
  readonly ahead: number;
  /** The step whose result was stored last; null: none, or not asked for. A pass in place says nothing of the next one. */
  readonly lastStep: string | null;
  readonly isDraining: boolean;
  /** Its function's jobs are being put into the lanes of new limits. */
  readonly hasNewLimits: boolean;
  /** How long the database took to lease work, where that was lately too long for it to leave at once; null: it was not. */
  readonly leasingMs: number | null;
  readonly pause: { readonly sinceMs: number; readonly note: string | null } | null;
}

/** A reason; what it does not say is null. */
export type FoundReason = Pick<RunWaiting, "reason" | "message"> & Partial<RunWaiting>;
