/** What starts a function: an event or a schedule, and the types by which a handler knows the event that it gets. */

import type { DataOfSchema, EventType, ReceivedEvent, SchemaMap, UntypedData } from "./event-types.ts";
import type { SchemaInput, StandardSchema } from "./standard-schema.ts";

/** An event as a trigger names it. */
export interface NamedEvent {
  readonly event: string;
  readonly schema?: StandardSchema | undefined;
}

export interface EventTrigger {
  /**
   * The name, which may end in "*", or a declared event.
   * @example event: "shop/order.*"
   */
  readonly event: string | NamedEvent;
  /**
   * CEL expression over `event`; only events for which it is true start the function.
   * @example if: "event.data.country in ['DE', 'AT']"
   */
  readonly if?: string;
  /**
   * A Standard Schema (valibot, zod, arktype ...): checks the event's data and types it in the handler. Default:
   * that of the declared event, or of the client's `schemas`.
   * @example schema: staticSchema<{ card: string }>()
   */
  readonly schema?: StandardSchema | undefined;
}

export interface CronTrigger {
  /**
   * Five fields (minute, hour, day of the month, month, day of the week), or six with seconds first; optionally
   * preceded by a time zone as in "TZ=Europe/Berlin ".
   * @example cron: "TZ=Europe/Berlin 0 9 * * 1-5"
   */
  readonly cron: string;
  /**
   * Spreads starts over this long, such as "30s".
   * @example jitter: "30s"
   */
  readonly jitter?: string;
}

export type TriggerInput = EventTrigger | CronTrigger;

/** A trigger on a schedule. */
export function cron(expression: string): CronTrigger {
  return { cron: expression };
}

/** What a tick of a schedule says of itself. */
export interface CronData {
  readonly cron: string;
  /** The time of the tick, as in `2026-03-01T09:00:00Z`; it is earlier than `fireAt` where a missed tick is made up for. */
  readonly scheduledAt: string;
  /** When a gateway made the run, in the same form. */
  readonly fireAt: string;
}

export type CronEvent = ReceivedEvent<"inngest/scheduled.timer", CronData>;

/** The event that `holdfast` gives to handlers of an `onFailure`. */
export interface FailureData<Event = ReceivedEvent<string, UntypedData>> {
  readonly function_id: string;
  readonly run_id: string;
  readonly error: { readonly name: string; readonly message: string; readonly stack?: string };
  /** The event that had started the failed run. */
  readonly event: Event;
}

export type FailureEvent<Event = ReceivedEvent<string, UntypedData>> = ReceivedEvent<
  "inngest/function.failed",
  FailureData<Event>
>;

/** A trigger with a wildcard gets events of many names. */
type EventName<Name extends string> = Name extends `${string}*` ? string : Name;

type NameData<Name extends string, Schemas> = string extends keyof Schemas
  ? UntypedData
  : Name extends keyof Schemas
    ? DataOfSchema<Schemas[Name]>
    : UntypedData;

/** The event a handler gets for one trigger. */
export type EventOfTrigger<Trigger, Schemas> =
  Trigger extends EventType<infer Name, infer Schema>
    ? ReceivedEvent<EventName<Name>, Schema extends StandardSchema ? DataOfSchema<Schema> : NameData<Name, Schemas>>
    : Trigger extends { readonly event: string; readonly schema: infer Schema extends StandardSchema }
      ? ReceivedEvent<EventName<Trigger["event"]>, DataOfSchema<Schema>>
      : Trigger extends { readonly event: infer Inner }
        ? Inner extends string
          ? ReceivedEvent<EventName<Inner>, NameData<Inner, Schemas>>
          : EventOfTrigger<Inner, Schemas>
        : Trigger extends { readonly cron: string }
          ? CronEvent
          : never;

/** The event a handler gets: the union over its triggers; anything when it has none. */
export type EventOfTriggers<Triggers, Schemas = SchemaMap> = [Triggers] extends [readonly []] | [undefined]
  ? ReceivedEvent<string, UntypedData>
  : Triggers extends readonly (infer Each)[]
    ? EventOfTrigger<Each, Schemas>
    : EventOfTrigger<Triggers, Schemas>;

type InputOfTrigger<Trigger, Schemas> =
  Trigger extends EventType<infer Name, infer Schema>
    ? Schema extends StandardSchema
      ? SchemaInput<Schema>
      : InputOfName<Name, Schemas>
    : Trigger extends { readonly event: string; readonly schema: infer Schema extends StandardSchema }
      ? SchemaInput<Schema>
      : Trigger extends { readonly event: infer Inner }
        ? Inner extends string
          ? InputOfName<Inner, Schemas>
          : InputOfTrigger<Inner, Schemas>
        : UntypedData;

type InputOfName<Name extends string, Schemas> = string extends keyof Schemas
  ? UntypedData
  : Name extends keyof Schemas
    ? Schemas[Name] extends StandardSchema
      ? SchemaInput<Schemas[Name]>
      : UntypedData
    : UntypedData;

/** The data with which a function is invoked: that of one of its events. */
export type DataOfTriggers<Triggers, Schemas = SchemaMap> = [Triggers] extends [readonly []] | [undefined]
  ? UntypedData
  : Triggers extends readonly (infer Each)[]
    ? InputOfTrigger<Each, Schemas>
    : InputOfTrigger<Triggers, Schemas>;
