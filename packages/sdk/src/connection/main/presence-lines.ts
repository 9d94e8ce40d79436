/**
 * What is logged when a connection is there, and when it is there again: to what, as what, with how many functions. And
 * when a signal closes it.
 */
import { type Clock, durationText, type Log } from "@holdfast/core";
import type { SerializableConfig } from "../shared/serializable-config.ts";

export interface PresenceLinesDeps {
  readonly config: Pick<SerializableConfig, "apiBaseUrl" | "gatewayUrl" | "envName" | "instanceId" | "apps">;
  readonly functionCount?: number;
  readonly envVariable?: string | undefined;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Log;
}

const MAX_NAMED = 5;
/** For other loggers than a console. */
const IDS = ["connectionId", "instanceId"];

export class PresenceLines {
  readonly #deps: PresenceLinesDeps;
  #wasReady = false;
  #lostMs: number | undefined;

  constructor(deps: PresenceLinesDeps) {
    this.#deps = deps;
  }

  onLost(): void {
    this.#lostMs ??= this.#deps.clock.monotonicMs();
  }

  onReady(connectionId: string): void {
    const { config, log } = this.#deps;
    const { instanceId } = config;
    log("info", this.#message(), { connectionId, instanceId }, IDS);
    this.#lostMs = undefined;
    this.#wasReady = true;
  }

  /** `isShared`: other connections of the process log the same. */
  closingMessage(signal: string, isShared: boolean): string {
    const whose = isShared ? ` of ${this.#appNames()} (${this.#deps.config.instanceId})` : "";
    return `${signal}: no new work is accepted; the connection${whose} closes when running requests have finished.`;
  }

  #message(): string {
    const { config, clock } = this.#deps;
    const gateway = (config.gatewayUrl ?? config.apiBaseUrl).replace(/\/$/, "");
    if (!this.#wasReady)
      return `Connected to ${gateway} as ${config.instanceId}: ${this.#apps()}${this.#environment()}.`;
    // The gateway that it was connected to drains: the next connection is there before the first one ends.
    if (this.#lostMs === undefined) return `Connected to ${gateway} by another connection, without an interruption.`;
    return `Connected to ${gateway} again, after ${durationText(clock.monotonicMs() - this.#lostMs)}.`;
  }

  #apps(): string {
    const { functionCount } = this.#deps;
    const apps = this.#appNames();
    if (functionCount === undefined) return apps;
    return `${functionCount} ${functionCount === 1 ? "function" : "functions"} of ${apps}`;
  }

  /** One that a host's variable names is easily taken for the default one, where nothing would run. */
  #environment(): string {
    const { config, envVariable } = this.#deps;
    if (config.envName === undefined) return "";
    return `, in environment "${config.envName}"${envVariable === undefined ? "" : ` (from ${envVariable})`}`;
  }

  #appNames(): string {
    const names = this.#deps.config.apps.map(({ appName }) => appName);
    const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more apps` : "";
    return `${names.slice(0, MAX_NAMED).join(", ")}${more}`;
  }
}
