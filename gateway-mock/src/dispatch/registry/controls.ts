/**
 * Owns what people have set, as it was last read with the registry: paused functions, rollouts of versions, drained
 * workers. What is decided on it carries the registry's version, which each change raises.
 */
import { type AppRollout, type FunctionPause, qualify, type StoredControls } from "@holdfast/store";

/** What follows from what people have set, as it was read with the registry. */
export type AfterControls =
  /** Work of these functions may be handed out again. */
  | { readonly do: "FUNCTIONS_RESUMED"; readonly functionIds: readonly string[] }
  /** Other workers are drained than before. */
  | { readonly do: "DRAINS_CHANGED" }
  /** New runs of these apps may be for another version now. */
  | { readonly do: "ROLLOUTS_CHANGED"; readonly appIds: readonly string[] };

export class Controls {
  readonly #emit: (effect: AfterControls) => void;
  #pauses: ReadonlyMap<string, FunctionPause> = new Map();
  #rollouts: ReadonlyMap<string, AppRollout> = new Map();
  #drains: ReadonlySet<string> = new Set();

  constructor(emit: (effect: AfterControls) => void) {
    this.#emit = emit;
  }

  /** Null: it is not paused. */
  pauseOf(functionId: string): FunctionPause | null {
    return this.#pauses.get(functionId) ?? null;
  }

  /** Null: its new runs begin with the newest version. */
  rolloutOf(appId: string): AppRollout | null {
    return this.#rollouts.get(appId) ?? null;
  }

  isDrained(environment: string, instanceId: string): boolean {
    return this.#drains.size > 0 && this.#drains.has(qualify(environment, instanceId));
  }

  read({ pauses, rollouts, drains }: StoredControls): void {
    const before = { pauses: this.#pauses, rollouts: this.#rollouts, drains: this.#drains };
    this.#pauses = new Map(pauses.map((pause) => [pause.functionId, pause]));
    this.#rollouts = new Map(rollouts.map((rollout) => [rollout.appId, rollout]));
    this.#drains = new Set(drains.map(({ instance }) => instance));
    const resumed = [...before.pauses.keys()].filter((functionId) => !this.#pauses.has(functionId));
    if (resumed.length > 0) this.#emit({ do: "FUNCTIONS_RESUMED", functionIds: resumed });
    const appIds = [...new Set([...before.rollouts.keys(), ...this.#rollouts.keys()])];
    const moved = appIds.filter((appId) => !isSame(before.rollouts.get(appId), this.#rollouts.get(appId)));
    if (moved.length > 0) this.#emit({ do: "ROLLOUTS_CHANGED", appIds: moved });
    const { size } = this.#drains;
    if (size !== before.drains.size || [...this.#drains].some((one) => !before.drains.has(one)))
      this.#emit({ do: "DRAINS_CHANGED" });
  }
}

const isSame = (a: AppRollout | undefined, b: AppRollout | undefined): boolean =>
  a?.version === b?.version && a?.percent === b?.percent;
