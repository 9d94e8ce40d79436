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
