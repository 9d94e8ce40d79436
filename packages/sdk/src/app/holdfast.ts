import { systemClock, systemRandom, systemTimers } from "@holdfast/core";
import { connect } from "../connection/main/connect.ts";
import type { Connection } from "../connection/main/connection.ts";
import type { ConnectOptions } from "../connection/shared/connect-options.ts";
import type { CheckedOutgoings, NoSchemas, OutgoingEvent, SchemaMap } from "../events/event-types.ts";
import { type FetchedRunState, fetchRunState } from "../events/run-state.ts";
import { eventList, type SentEvents, sendEvents } from "../events/send-events.ts";
import type { FetchLike, SendPorts } from "../events/send-http.ts";
import { type OutgoingSignal, type SentSignal, sendSignal } from "../events/send-signal.ts";
import type { DataOfTriggers, EventOfTriggers, TriggerInput } from "../events/triggers.ts";
import type { ResolvedClientOptions } from "../functions/app-client.ts";
import {
  defineFunction,
  type FailureHandler,
  type Handler,
  type HoldfastFunction,
} from "../functions/define-function.ts";
import type { FunctionOptions } from "../functions/function-options.ts";
import type { Environment } from "../options.ts";
import type { ClientOptions } from "./client-options.ts";
import { resolveClientOptions } from "./resolve-client-options.ts";

/**
 * An app: where its functions are defined, its events are sent from, and its connection is made.
 *
 *     const holdfast = new Holdfast({ id: "my-app" });
 */
export class Holdfast<const Schemas extends SchemaMap = NoSchemas> {
  /** What the options and the environment came to. */
  readonly options: ResolvedClientOptions;
  readonly schemas: Schemas | undefined;
  readonly #fetch: FetchLike | undefined;

  /** @throws HoldfastError `OPTION_INVALID`, `OPTION_MISSING` */
  constructor(options: ClientOptions<Schemas>, env: Environment = globalThis.process?.env ?? {}) {
    this.options = resolveClientOptions(options, env);
    this.schemas = options.schemas;
    this.#fetch = options.fetch;
  }

  get id(): string {
    return this.options.id;
  }

  /**
   * Defines a function; `connect` brings it to life.
   * @throws HoldfastError `FUNCTION_INVALID`
   */
  createFunction<const Triggers extends TriggerInput | readonly TriggerInput[] = readonly [], Output = unknown>(
    options: FunctionOptions<Triggers> & {
      /** Called once when a run has failed permanently; a function of its own, with steps and retries. */
      readonly onFailure?: FailureHandler<EventOfTriggers<Triggers, Schemas>, Schemas>;
    },
    handler: Handler<EventOfTriggers<Triggers, Schemas>, Schemas, Output>,
  ): HoldfastFunction<DataOfTriggers<Triggers, Schemas>, Output> {
    return defineFunction(this, options as FunctionOptions, handler) as HoldfastFunction<
      DataOfTriggers<Triggers, Schemas>,
      Output
    >;
  }

  /**
   * Connects this app alone; `connect({ apps })` connects several over one connection. Resolves when it is ready.
   * @throws HoldfastError `OPTION_INVALID`, `OPTION_MISSING`, `FUNCTION_DUPLICATE`, `CONNECT_TIMEOUT`, `CONNECT_REFUSED`
   */
  connect(options: { readonly functions: readonly HoldfastFunction[] } & ConnectOptions): Promise<Connection> {
    // What untyped callers leave out is reported by the checks behind this.
    const { functions, ...rest } = (options ?? {}) as typeof options;
    return connect({ ...rest, apps: [{ client: this, functions }] });
  }

  /**
   * Sends one event or several in one request.
   * @throws HoldfastError `EVENT_INVALID`, `EVENT_SEND_FAILED`, `OPTION_MISSING`
   */
  async send<const Events extends OutgoingEvent | readonly OutgoingEvent[]>(
    events: Events & CheckedOutgoings<Events, Schemas>,
  ): Promise<SentEvents> {
    return this.sendEvents(eventList(events));
  }

  /**
   * Sends a signal to the run that waits for it; `runId` is absent when none does.
   * @throws HoldfastError `SIGNAL_SEND_FAILED`, `OPTION_INVALID`
   */
  sendSignal(signal: OutgoingSignal): Promise<SentSignal> {
    return sendSignal(this.options, signal, this.#ports());
  }

  /** `send` for callers whose events are typed elsewhere. */
  sendEvents(events: readonly OutgoingEvent[]): Promise<SentEvents> {
    return sendEvents(this.options, this.schemas, events, this.#ports());
  }

  /**
   * What a request leaves out that is too large for one frame; for `connect`.
   * @throws HoldfastError `RUN_STATE_UNAVAILABLE`
   */
  fetchRunState(runId: string, signal: AbortSignal): Promise<FetchedRunState> {
    return fetchRunState(this.options, runId, this.#ports(), signal);
  }

  #ports(): SendPorts {
    const fetch = this.#fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init));
    return { clock: systemClock, timers: systemTimers, random: systemRandom, fetch };
  }
}
