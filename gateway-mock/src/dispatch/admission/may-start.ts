/**
 * The rules of admission as pure functions: draining, pausing, limits, backlog and versions (docs/decisions/0032),
 * queues (0070); numbered START-1 to START-7.
 */
import { unreachable } from "@holdfast/core";
import type { VersionPolicy } from "@holdfast/engine";

interface OfFunction {
  readonly functionId: string;
}

/** A job that is made and that a worker is to have. */
interface NewWork extends OfFunction {
  readonly isDue: boolean;
  /** Limits of its function count it, which the claim alone can do. */
  readonly isLimited: boolean;
}

/** Work that may be handed out, by where it comes from. */
export type Work =
  /** The first job of a run that an event starts, to be leased on creation. */
  | (NewWork & {
      readonly at: "NEW_RUN";
      readonly newestVersion: string;
      /** The version that a rollout begins it with; default: the newest. */
      readonly rolledOut?: string;
    })
  /** A job that a decision on a run makes, to be leased on creation. */
  | (NewWork & { readonly at: "NEXT_JOB"; readonly version: string })
  /** What is due of a function, to be claimed. */
  | (OfFunction & { readonly at: "CLAIM" })
  /** What was put off for want of a worker of this version, to be claimed again. Null: of any. */
  | (OfFunction & { readonly at: "RECALL"; readonly version: string | null })
  /**
   * The first pass of a run, claimed. `newest`: of the versions that are connected anywhere; null = none is known to
   * be. `isRolledOut`: it is the one that a rollout begins the run with.
   */
  | (OfFunction & {
      readonly at: "FIRST_PASS";
      readonly newest: string | null;
      readonly waitedMs: number;
      readonly isRolledOut?: boolean;
    })
  /** A job of a run that has begun, claimed. */
  | (OfFunction & { readonly at: "BEGUN_RUN"; readonly version: string })
  /** The same, when no worker here is of its version. `isElsewhere`: one at another gateway is, and takes work. */
  | (OfFunction & { readonly at: "VERSION_MISSING"; readonly isElsewhere: boolean });

/** What is asked for beside the work itself. */
export interface AdmissionFacts {
  readonly versionPolicy: VersionPolicy;
  /** This gateway hands out no more work. */
  readonly isDraining: boolean;
  /** Nothing of the function starts. */
  readonly isPaused: boolean;
  /** Jobs of the function are being put into the lanes of new limits. */
  readonly hasNewLimits: boolean;
  /** Older jobs of the function are known to wait. */
  readonly hasBacklog: boolean;
}

/** It may start, with a worker of this version. */
export interface Admitted {
  readonly may: true;
  /** Null: of any. */
  readonly version: string | null;
  /** In this long a worker of another version may have it, too; 0 = at once, null = never. */
  readonly anyVersionInMs: number | null;
}

/** Why work has to wait. */
export type Waiting =
  | { readonly may: false; readonly why: "GATEWAY_DRAINING" }
  | { readonly may: false; readonly why: "FUNCTION_PAUSED" }
  | { readonly may: false; readonly why: "NOT_DUE" }
  /** The claim counts it against the limits of its function, once all of its jobs are counted by them. */
  | { readonly may: false; readonly why: "LIMITS" }
  /** Older work of the function comes first. */
  | { readonly may: false; readonly why: "BACKLOG" }
  /** No worker here that may have it takes more work. */
  | { readonly may: false; readonly why: "NO_ROOM" }
  /** No worker that serves the queue of its function is connected here. */
  | { readonly may: false; readonly why: "NO_WORKER_IN_QUEUE"; readonly queue: string }
  /** It waits for a worker of its version. */
  | { readonly may: false; readonly why: "VERSION"; readonly isElsewhere: boolean };

export type Admittance = Admitted | Waiting;

/** How long the first pass of a run waits for room at the newest version before an older one may have it. */
const OLDER_AFTER_MS = { prefer: 5_000, any: 250, strict: null } as const satisfies Record<
  VersionPolicy,
  number | null
>;

/**
 * Whether work may be handed out, and to which version of its app. Pure.
 *
 * START-1. What was claimed is handed out, whatever has begun since: who claims has asked before.
 * START-2. Nothing else is handed out by a gateway that drains.
 * START-3. Nothing of a paused function is handed out.
 * START-4. A new run does not overtake older jobs of its function that wait. What a run goes on with does: it is older
 *     than they are.
 * START-5. What limits count is handed out by the claim alone, and not while limits are new: what waits and what is at
 *     work is to be counted by them first.
 * START-6. New runs begin on the newest version, or on the one that their app's rollout gives them; what has begun
 *     stays with its own, as the policy says.
 * START-7. Work goes only to workers that serve the queue of its function, in the version that they run (`Workers`).
 */
export function mayStart(work: Work, facts: AdmissionFacts): Admittance {
  switch (work.at) {
    case "NEW_RUN":
      return whyNot(work, facts) ?? (facts.hasBacklog ? BACKLOG : onNewest(work));
    case "NEXT_JOB":
      return whyNot(work, facts) ?? onlyBy(versionOf(work.version, facts));
    case "CLAIM":
      return whyClosed(facts) ?? (facts.hasNewLimits ? LIMITS : BY_ANY);
    case "RECALL":
      return whyClosed(facts) ?? onlyBy(work.version);
    case "FIRST_PASS":
      return work.isRolledOut ? onlyBy(work.newest) : firstPass(work.newest, work.waitedMs, facts);
    case "BEGUN_RUN":
      return onlyBy(versionOf(work.version, facts));
    case "VERSION_MISSING":
      if (work.isElsewhere) return { may: false, why: "VERSION", isElsewhere: true };
      if (facts.versionPolicy === "strict") return { may: false, why: "VERSION", isElsewhere: false };
      return BY_ANY;
    default:
      return unreachable(work);
  }
}

/** A run is made for the newest version; one that begins with another is placed by the claim, which writes that down. */
function onNewest({ newestVersion, rolledOut = newestVersion }: Extract<Work, { at: "NEW_RUN" }>): Admittance {
  return rolledOut === newestVersion ? onlyBy(newestVersion) : { may: false, why: "VERSION", isElsewhere: false };
}

function whyNot({ isDue, isLimited }: NewWork, facts: AdmissionFacts): Waiting | null {
  if (!isDue) return NOT_DUE;
  return isLimited ? LIMITS : whyClosed(facts);
}

function whyClosed({ isDraining, isPaused }: AdmissionFacts): Waiting | null {
  if (isDraining) return DRAINING;
  return isPaused ? PAUSED : null;
}

function firstPass(newest: string | null, waitedMs: number, { versionPolicy }: AdmissionFacts): Admitted {
  const afterMs = newest === null ? 0 : OLDER_AFTER_MS[versionPolicy];
  return { may: true, version: newest, anyVersionInMs: afterMs === null ? null : Math.max(0, afterMs - waitedMs) };
}

const versionOf = (version: string, { versionPolicy }: AdmissionFacts): string | null =>
  versionPolicy === "any" ? null : version;

const onlyBy = (version: string | null): Admitted =>
  version === null ? BY_ANY : { may: true, version, anyVersionInMs: null };

/** No place was found for what may start: whether there is a worker that could have one. */
export function whyNoPlace({ isServed, queue }: { readonly isServed: boolean; readonly queue: string }): Waiting {
  return isServed ? NO_ROOM : { may: false, why: "NO_WORKER_IN_QUEUE", queue };
}

const BY_ANY: Admitted = { may: true, version: null, anyVersionInMs: 0 };
const DRAINING: Waiting = { may: false, why: "GATEWAY_DRAINING" };
const PAUSED: Waiting = { may: false, why: "FUNCTION_PAUSED" };
const NOT_DUE: Waiting = { may: false, why: "NOT_DUE" };
const LIMITS: Waiting = { may: false, why: "LIMITS" };
const BACKLOG: Waiting = { may: false, why: "BACKLOG" };
const NO_ROOM: Waiting = { may: false, why: "NO_ROOM" };
