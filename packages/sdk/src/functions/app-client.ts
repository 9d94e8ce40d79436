import type { LoggerLike, LogLevelChoice } from "@holdfast/core";
import type { OutgoingEvent, SchemaMap } from "../events/event-types.ts";
import type { GatewayAccess } from "../events/gateway-access.ts";
import type { FetchedRunState } from "../events/run-state.ts";

/** For `connect`, which sees `events/` through this room alone. */
export { apiBase } from "../events/gateway-access.ts";

/** What the options of an app and the environment came to. */
export interface ResolvedClientOptions extends GatewayAccess {
  readonly id: string;
  readonly appVersion?: string;
  readonly logger: LoggerLike;
  /** Of what Holdfast itself logs. */
  readonly logLevel: LogLevelChoice;
}

/**
 * The app that functions belong to, as the rooms below `app/` see it: `Holdfast` connects, so it stands above them, and
 * they reach what it sends and fetches through this.
 */
export interface AppClient {
  readonly options: ResolvedClientOptions;
  readonly schemas: SchemaMap | undefined;
  /** The variable that names the environment, where no option does. */
  readonly envVariable?: string | undefined;
  sendEvents(events: readonly OutgoingEvent[]): Promise<{ ids: string[] }>;
  sendSignal(signal: { readonly signal: string; readonly data?: unknown }): Promise<{ readonly runId?: string }>;
  fetchRunState(runId: string, signal: AbortSignal): Promise<FetchedRunState>;
}
