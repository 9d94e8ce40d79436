import type { OutgoingEvent, SchemaMap } from "../client/event-types.ts";
import type { ResolvedClientOptions } from "../client/resolve-client-options.ts";
import type { FetchedRunState } from "../client/run-state.ts";

/** What the registry needs of a client. */
export interface ClientLike {
  readonly options: ResolvedClientOptions;
  readonly schemas: SchemaMap | undefined;
  sendEvents(events: readonly OutgoingEvent[]): Promise<{ ids: string[] }>;
  sendSignal(signal: { readonly signal: string; readonly data?: unknown }): Promise<{ readonly runId?: string }>;
  fetchRunState(runId: string, signal: AbortSignal): Promise<FetchedRunState>;
}
