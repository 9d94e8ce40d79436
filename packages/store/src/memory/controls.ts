/** The tables of what people have set: pauses, rollouts, drains. Their changes raise the registry's version. */
import type { AppRollout, FunctionPause, StoredControls, WorkerDrain } from "../port/controls.ts";
import { byText, type TableClock } from "./rows.ts";

/** A drain of a worker that is gone is forgotten after this. */
const KEPT_MS = 7 * 86_400_000;

/** What people have set, by what it is for. */
export class Controls {
  readonly #pauses = new Map<string, FunctionPause>();
  readonly #rollouts = new Map<string, AppRollout>();
  readonly #drains = new Map<string, WorkerDrain>();
  readonly #clock: TableClock;
  readonly #changed: () => void;

  constructor(clock: TableClock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  all(): StoredControls {
    return {
      pauses: [...this.#pauses.values()].sort((a, b) => byText(a.functionId, b.functionId)),
      rollouts: [...this.#rollouts.values()].sort((a, b) => byText(a.appId, b.appId)),
      drains: [...this.#drains.values()].sort((a, b) => byText(a.instance, b.instance)),
    };
  }

  isPaused(functionId: string): boolean {
    return this.#pauses.has(functionId);
  }

  pauseFunction(functionId: string, note: string | null): boolean {
    const known = this.#pauses.get(functionId);
    if (known && known.note === note) return false;
    this.#pauses.set(functionId, { functionId, sinceMs: known?.sinceMs ?? this.#clock.nowMs(), note });
    return this.#didChange();
  }

  resumeFunction(functionId: string): boolean {
    return this.#pauses.delete(functionId) && this.#didChange();
  }

  setRollout({ appId, version, percent }: Omit<AppRollout, "sinceMs">): boolean {
    const known = this.#rollouts.get(appId);
    if (known?.version === version && known.percent === percent) return false;
    this.#rollouts.set(appId, { appId, version, percent, sinceMs: this.#clock.nowMs() });
    return this.#didChange();
  }

  removeRollout(appId: string): boolean {
    return this.#rollouts.delete(appId) && this.#didChange();
  }

  drainWorker(instance: string): boolean {
    if (this.#drains.has(instance)) return false;
    this.#drains.set(instance, { instance, sinceMs: this.#clock.nowMs() });
    return this.#didChange();
  }

  undrainWorker(instance: string): boolean {
    return this.#drains.delete(instance) && this.#didChange();
  }

  /** Drains that are old, of workers that are not connected. */
  tidy(isConnected: (instance: string) => boolean): void {
    const old = [...this.#drains.values()].filter(
      ({ instance, sinceMs }) => sinceMs < this.#clock.nowMs() - KEPT_MS && !isConnected(instance),
    );
    for (const { instance } of old) this.#drains.delete(instance);
    if (old.length > 0) this.#didChange();
  }

  #didChange(): true {
    this.#changed();
    return true;
  }
}
