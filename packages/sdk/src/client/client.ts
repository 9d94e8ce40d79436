import { systemClock, systemRandom, systemTimers } from "@holdfast/core";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  defineFunction,
  type FailureHandler,
  type Handler,
  type HoldfastFunction,
} from "../functions/define-function.ts";
import type { FunctionOptions } from "../functions/function-options.ts";
import type { EventOfTriggers, TriggerInput } from "../functions/triggers.ts";
import type { Environment } from "../options.ts";
import {
  type ClientOptions,
  type FetchLike,
  type ResolvedClientOptions,
  resolveClientOptions,
} from "./client-options.ts";
import type { CheckedOutgoings, OutgoingEvent, SchemaMap } from "./event-types.ts";
import { type SentEvents, sendEvents } from "./send-events.ts";

/** Without schemas on the client every event name is free. */
export type NoSchemas = Readonly<Record<never, StandardSchemaV1>>;

/** An app: where its functions are defined and its events are sent from. */
export class Client<const Schemas extends SchemaMap = NoSchemas> {
  /** What the options and the environment came to. */
  readonly options: ResolvedClientOptions;
  readonly schemas: Schemas | undefined;
  readonly #fetch: FetchLike | undefined;

  /** @throws HoldfastError `OPTION_INVALID`, `OPTION_MISSING` */
  constructor(options: ClientOptions<Schemas>, env: Environment = process.env) {
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
  createFunction<const Triggers extends TriggerInput | readonly TriggerInput[] = readonly []>(
    options: FunctionOptions<Triggers> & {
      /** Called once when a run has failed for good; a function of its own, with steps and retries. */
      readonly onFailure?: FailureHandler<EventOfTriggers<Triggers, Schemas>, Schemas>;
    },
    handler: Handler<EventOfTriggers<Triggers, Schemas>, Schemas>,
  ): HoldfastFunction {
    return defineFunction(this.options.id, options as FunctionOptions, handler);
  }

  /**
   * Sends one event or several in one request.
   * @throws HoldfastError `EVENT_INVALID`, `EVENT_SEND_FAILED`, `OPTION_MISSING`
   */
  send<const Events extends OutgoingEvent | readonly OutgoingEvent[]>(
    events: Events & CheckedOutgoings<Events, Schemas>,
  ): Promise<SentEvents> {
    const given: OutgoingEvent | readonly OutgoingEvent[] = events;
    return this.sendEvents(Array.isArray(given) ? (given as readonly OutgoingEvent[]) : [given as OutgoingEvent]);
  }

  /** `send` for callers whose events are typed elsewhere. */
  sendEvents(events: readonly OutgoingEvent[]): Promise<SentEvents> {
    const fetch = this.#fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init));
    const ports = { clock: systemClock, timers: systemTimers, random: systemRandom, fetch };
    return sendEvents(this.options, this.schemas, events, ports);
  }
}
