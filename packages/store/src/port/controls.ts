/**
 * What people have set while everything runs: functions that are paused, rollouts of versions, workers that are
 * drained. All of it is read with the registry and raises its version, so that what is decided without it is refused.
 */

export interface FunctionPause {
  readonly functionId: string;
  readonly sinceMs: number;
  /** Why, as the one who paused it wrote. */
  readonly note: string | null;
}

/** Which version new runs of an app begin with. */
export interface AppRollout {
  readonly appId: string;
  readonly version: string;
  /** Of the new runs this many in a hundred begin with the version; the others with the newest other one. */
  readonly percent: number;
  readonly sinceMs: number;
}

/** A worker that is given no new work, over all of its connections. */
export interface WorkerDrain {
  /** Its instance id, in its environment (`qualify`). */
  readonly instance: string;
  readonly sinceMs: number;
}

/** What is set now. */
export interface StoredControls {
  readonly pauses: readonly FunctionPause[];
  readonly rollouts: readonly AppRollout[];
  readonly drains: readonly WorkerDrain[];
}

/** Each is true when it has changed something; then, and only then, the registry has another version. */
export interface ControlWrites {
  /** One that is paused already keeps its time and gets this note. */
  pauseFunction(functionId: string, note: string | null): Promise<boolean>;
  resumeFunction(functionId: string): Promise<boolean>;
  setRollout(rollout: Omit<AppRollout, "sinceMs">): Promise<boolean>;
  removeRollout(appId: string): Promise<boolean>;
  drainWorker(instance: string): Promise<boolean>;
  /** It is given work again. */
  undrainWorker(instance: string): Promise<boolean>;
}
