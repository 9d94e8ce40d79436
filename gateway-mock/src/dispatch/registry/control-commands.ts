/**
 * Carries out what people set: pauses of functions, drains of workers. Each is stored, which raises the registry's
 * version; then this gateway reads it again, so that who is answered finds it in force here. At other gateways it is in
 * force as well: what they decide on without it is refused.
 */
import { HoldfastError, type Log } from "@holdfast/core";
import {
  type AppRollout,
  environmentOf,
  type FunctionPause,
  type ListedConnection,
  plainName,
  qualify,
  type Store,
} from "@holdfast/store";
import { findFunction } from "./find-function.ts";
import type { Functions } from "./functions.ts";

export interface ControlParts {
  readonly store: Store;
  readonly functions: Functions;
  readonly log: Log;
}

export interface PausedFunction {
  readonly functionId: string;
  /** Null: it is not paused. */
  readonly pause: FunctionPause | null;
  readonly changed: boolean;
}

export interface DrainedWorker {
  readonly instanceId: string;
  readonly isDrained: boolean;
  readonly changed: boolean;
  readonly connections: readonly ListedConnection[];
}

export interface AppRolloutChange {
  readonly appId: string;
  /** Null: new runs begin with the newest version. */
  readonly rollout: AppRollout | null;
  readonly changed: boolean;
  /** Those that the app has, the newest first. */
  readonly versions: readonly string[];
}

export class ControlCommands {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  /** @throws HoldfastError `NOT_FOUND` */
  async pauseFunction(environment: string, name: string, note: string | null): Promise<PausedFunction> {
    const { store, functions, log } = this.#parts;
    const { id } = await findFunction(this.#parts.functions, environment, name);
    const changed = await store.pauseFunction(id, note);
    await functions.load();
    const why = note === null ? "" : `: ${note}`;
    if (changed) log("info", `The function ${plainName(id)} is paused${why}.`, { functionId: id });
    return { functionId: id, pause: functions.controls.pauseOf(id), changed };
  }

  /** @throws HoldfastError `NOT_FOUND` */
  async resumeFunction(environment: string, name: string): Promise<PausedFunction> {
    const { store, functions, log } = this.#parts;
    const { id } = await findFunction(this.#parts.functions, environment, name);
    const changed = await store.resumeFunction(id);
    await functions.load();
    if (changed) log("info", `The function ${plainName(id)} is resumed.`, { functionId: id });
    return { functionId: id, pause: functions.controls.pauseOf(id), changed };
  }

  /**
   * New runs of the app begin with this version, so many in a hundred of them; null: with the newest again.
   * @throws HoldfastError `NOT_FOUND`, `OPTION_INVALID` when no deployment of the app has the version
   */
  async setRollout(
    environment: string,
    name: string,
    rollout: Pick<AppRollout, "version" | "percent"> | null,
  ): Promise<AppRolloutChange> {
    const { store, functions, log } = this.#parts;
    const appId = qualify(environment, name);
    await functions.load();
    const own = [...functions.all()].filter((fn) => fn.appId === appId);
    if (own.length === 0)
      throw new HoldfastError("NOT_FOUND", `No app ${JSON.stringify(name.slice(0, 80))} has connected.`);
    const versions = [...new Set(own.flatMap(({ id }) => functions.versionsOf(id)))];
    if (rollout && !versions.includes(rollout.version)) {
      const asked = JSON.stringify(rollout.version.slice(0, 80));
      throw new HoldfastError("OPTION_INVALID", `The app ${name} has no version ${asked}: ${versionsText(versions)}.`);
    }
    const changed = await (rollout ? store.setRollout({ appId, ...rollout }) : store.removeRollout(appId));
    await functions.load();
    const what = rollout
      ? `${rollout.percent} % of new runs begin with version ${rollout.version}`
      : "the newest version begins all new runs";
    if (changed) log("info", `App ${name}: ${what}.`, { appId });
    return { appId, rollout: functions.controls.rolloutOf(appId), changed, versions };
  }

  /**
   * `id`: of a connection, or the instance id of a worker.
   * @throws HoldfastError `NOT_FOUND`
   */
  async drainWorker(environment: string, id: string, isDrained: boolean): Promise<DrainedWorker> {
    const { store, functions, log } = this.#parts;
    const connections = (await store.listConnections()).filter(
      ({ appIds }) => environmentOf(appIds[0] ?? "") === environment,
    );
    const instanceId = connections.find((one) => one.id === id || one.instanceId === id)?.instanceId ?? id;
    const instance = qualify(environment, instanceId);
    const own = connections.filter((one) => one.instanceId === instanceId);
    if (own.length === 0 && (isDrained || !functions.controls.isDrained(environment, id))) {
      throw new HoldfastError("NOT_FOUND", `No worker with the id ${JSON.stringify(id.slice(0, 80))} is connected.`);
    }
    const changed = await (isDrained ? store.drainWorker(instance) : store.undrainWorker(instance));
    await functions.load();
    const what = isDrained ? "is drained: it gets no new work" : "gets work again";
    if (changed) log("info", `The worker ${instanceId} ${what}.`, { instanceId });
    return { instanceId, isDrained, changed, connections: own };
  }
}

/** An app whose workers name no version has one all the same, without a name. */
function versionsText(versions: readonly string[]): string {
  const named = versions.filter((one) => one !== "");
  return named.length > 0 ? `it has ${named.join(", ")}` : "its workers name none (appVersion, HOLDFAST_APP_VERSION)";
}
