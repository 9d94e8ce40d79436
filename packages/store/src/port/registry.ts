/**
 * Who can run what: apps with their deployments and functions, and the connections of workers, each kept by the gateway
 * it is open at. The registry's version lets decisions that rest on it be refused once it is out of date.
 */

export interface AppRecord {
  readonly id: string;
  readonly version: string;
  readonly sdk: string;
  readonly functions: readonly FunctionRecord[];
}

export interface FunctionRecord {
  /** As the wire has it: app id, dash, function id. */
  readonly slug: string;
  readonly name: string;
  readonly triggersJson: string;
  readonly configJson: string;
}

export interface StoredFunction extends FunctionRecord {
  /** False: the newest deployment of its app does not have it; nothing starts new runs of it. */
  readonly active: boolean;
  readonly appId: string;
  readonly appVersion: string;
  readonly uuid: string;
}

/** A deployment of an app: its version, and the slugs of its functions. */
export interface Deployment {
  readonly appId: string;
  readonly version: string;
  readonly slugs: readonly string[];
}

/** The registry of functions as it was at one instant. */
export interface StoredRegistry {
  /** Another one with every change. What is decided on the rest may be written only while this is the version. */
  readonly version: number;
  readonly functions: readonly StoredFunction[];
  /** Those that were seen in the last days; of each app the newest first. */
  readonly deployments: readonly Deployment[];
}

export interface ConnectionRecord {
  readonly id: string;
  readonly gatewayId: string;
  readonly instanceId: string;
  readonly appIds: readonly string[];
  /** `app@version` of each. */
  readonly versions: readonly string[];
  readonly status: string;
  readonly connectedMs: number;
}

export interface ListedConnection extends ConnectionRecord {
  /** For how long its gateway has given no sign of life. */
  readonly silentMs: number;
}
