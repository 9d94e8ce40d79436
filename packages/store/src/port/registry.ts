/**
 * Who can run what: apps with their deployments and functions, and the connections of workers, each kept by the gateway
 * it is open at. The registry's version lets decisions that rest on it be refused once it is out of date.
 */

import type { StoredControls } from "./controls.ts";
import type { PublishedGraph } from "./graph-names.ts";

export interface AppRecord {
  readonly id: string;
  readonly version: string;
  readonly sdk: string;
  readonly functions: readonly FunctionRecord[];
}

export interface RegisteredFunction {
  /** As the wire has it: app id, dash, function id. */
  readonly slug: string;
  readonly name: string;
  readonly triggersJson: string;
  readonly configJson: string;
}

export interface FunctionRecord extends RegisteredFunction {
  /** The queue that it names in its configuration. */
  readonly queue?: string;
}

export interface StoredFunction extends RegisteredFunction {
  /** False: the newest deployment of its app does not have it; nothing starts new runs of it. */
  readonly active: boolean;
  readonly appId: string;
  readonly appVersion: string;
  readonly uuid: string;
}

/** What is known of the process that registers, and of who says so. */
export interface Registration {
  /** How long ago it began. Absent: not known, and no deployment becomes the newest again for it. */
  readonly startedAgoMs?: number;
  /**
   * For how long a deployment must have been away, while a newer one was there, to come back as the newest; 0: it need
   * not have been. Default: a minute.
   */
  readonly awayMs?: number;
  /** False: nothing can be concluded from deployments of which nothing was heard, as when the database was away. */
  readonly trustsSilence?: boolean;
}

/** A deployment of an app: its version, the slugs of its functions, and the queues of those that name one. */
export interface Deployment {
  readonly appId: string;
  readonly version: string;
  readonly slugs: readonly string[];
  readonly queues: Readonly<Record<string, string>>;
}

/** The registry of functions as it was at one instant. */
export interface StoredRegistry {
  /** Another one with every change. What is decided on the rest may be written only while this is the version. */
  readonly version: number;
  readonly functions: readonly StoredFunction[];
  /** Those that were seen in the last days; of each app the newest first. */
  readonly deployments: readonly Deployment[];
  readonly controls: StoredControls;
  /** Those that something triggers, by uid. */
  readonly graphs: readonly PublishedGraph[];
}

export interface PartitionRecord {
  readonly functionIds: readonly string[];
  readonly capacity: number;
}

/**
 * What its gateway has noticed of a worker, for people who look at another one: its main thread is blocked, or nothing
 * was heard of it for too long. Nothing follows from it.
 */
export type ConnectionMark = "BLOCKED" | "SILENT";

export interface ConnectionRecord {
  readonly id: string;
  readonly gatewayId: string;
  readonly instanceId: string;
  readonly appIds: readonly string[];
  /** `app@version` of each. */
  readonly versions: readonly string[];
  /** The queues that it serves; `["*"]` = every one. */
  readonly queues: readonly string[];
  /** Parts of its capacity that belong to some functions alone. */
  readonly partitions: readonly PartitionRecord[];
  /** Requests that it may have at once, beside those of its partitions. */
  readonly capacity: number;
  readonly status: string;
  readonly mark?: ConnectionMark;
  readonly connectedMs: number;
}

export interface ListedConnection extends ConnectionRecord {
  /** For how long its gateway has given no sign of life. */
  readonly silentMs: number;
}
