/**
 * Events as users write and receive them, their schemas, and the check of data against a schema. No I/O:
 * `send-events.ts` sends.
 */
import { HoldfastError } from "@holdfast/core";
import type { SchemaInput, SchemaIssue, SchemaOutput, StandardSchema } from "./standard-schema.ts";

/** An event as a function receives it. */
export interface ReceivedEvent<Name extends string = string, Data = unknown> {
  readonly id: string;
  readonly name: Name;
  readonly data: Data;
  /** When it happened, in milliseconds since the Unix epoch. */
  readonly ts: number;
  readonly user?: unknown;
  readonly v?: string;
  readonly meta?: unknown;
}

/** An event to be sent. `data` must be a JSON object. */
export interface OutgoingEvent<Name extends string = string, Data = unknown> {
  readonly name: Name;
  readonly data?: Data;
  /** Events with the same id start functions only once. Default: made by the gateway. */
  readonly id?: string;
  /**
   * When it happened, in milliseconds since the Unix epoch; what an event of the future starts begins then. Default: when
   * the gateway receives it, by the gateway's clock.
   */
  readonly ts?: number;
  readonly v?: string;
  readonly user?: unknown;
  readonly meta?: unknown;
}

/** Standard Schemas of event data, by event name. */
export type SchemaMap = Readonly<Record<string, StandardSchema>>;

/** Without schemas on the app every event name is free. */
export type NoSchemas = Readonly<Record<never, StandardSchema>>;

type InputOf<Schema> = Schema extends StandardSchema ? SchemaInput<Schema> : UntypedData;
type OutputOf<Schema> = Schema extends StandardSchema ? SchemaOutput<Schema> : UntypedData;

declare const DECLARED: unique symbol;

/** An event that `EventType.create` has made, of whatever name: for types alone. */
export interface DeclaredEvent<Name extends string = string, Data = unknown> extends OutgoingEvent<Name, Data> {
  readonly [DECLARED]?: never;
}

/** Data of an event without a declared schema: readable as plain JSON. */
// biome-ignore lint/suspicious/noExplicitAny: handlers of undeclared events read fields without a cast on each of them
export type UntypedData = Record<string, any>;

/** A declared event: use it as a trigger, and to make events that fit. */
export interface EventType<Name extends string = string, Schema extends StandardSchema | undefined = undefined> {
  readonly name: Name;
  /** The same as `name`, so that the object is a trigger as it stands. */
  readonly event: Name;
  readonly schema: Schema;
  readonly version?: string;
  /** Makes an event of this type; its data is checked when it is sent. */
  create(
    data: InputOf<Schema>,
    options?: { readonly id?: string; readonly ts?: number; readonly v?: string },
  ): DeclaredEvent<Name, InputOf<Schema>>;
}

/** What a declared event looks like to a handler. */
export type EventOfType<Type> =
  Type extends EventType<infer Name, infer Schema> ? ReceivedEvent<Name, OutputOf<Schema>> : never;

export type DataOfSchema<Schema> = OutputOf<Schema>;

/**
 * Of an app with `schemas` an outgoing event has one of their names, and data that fits it. Where it does not, the type is
 * what the event should be, so that the error names both. Free are names that are no literals, and declared events.
 */
export type CheckedOutgoing<Event, Schemas> = string extends keyof Schemas
  ? Event
  : [keyof Schemas] extends [never]
    ? Event
    : Event extends { readonly name: infer Name extends keyof Schemas & string }
      ? Event extends { readonly data: InputOf<Schemas[Name]> }
        ? Event
        : OutgoingEvent<Name, InputOf<Schemas[Name]>> & { readonly data: InputOf<Schemas[Name]> }
      : typeof DECLARED extends keyof Event
        ? Event
        : Event extends { readonly name: infer Name extends string }
          ? IsLiteral<Name> extends true
            ? OutgoingEvent<keyof Schemas & string>
            : Event
          : Event;

/** False of `string` and of patterns such as `shop/${string}`. */
type IsLiteral<Name extends string> = Record<never, never> extends Record<Name, unknown> ? false : true;

/** What may be sent: `Events` where all of it fits. One event is judged apart, so that its error says what is expected. */
export type CheckedOutgoings<Events, Schemas> =
  | (Events & CheckedList<Events, Schemas>)
  | (Events extends readonly unknown[] ? never : CheckedOutgoing<Events, Schemas>);

type CheckedList<Events, Schemas> = Events extends readonly unknown[]
  ? { readonly [Index in keyof Events]: CheckedOutgoing<Events[Index], Schemas> }
  : never;

/** Events made by `EventType.create` carry their schema here, out of sight of JSON. */
const SCHEMA = Symbol.for("holdfast.eventSchema");

/**
 * Declares an event: its name, and a Standard Schema (valibot, zod, arktype ...) of its data.
 *
 *     const signedUp = eventType("app/user.signed-up", { schema: v.object({ userId: v.string() }) });
 */
export function eventType<const Name extends string, Schema extends StandardSchema | undefined = undefined>(
  name: Name,
  options: { readonly schema?: Schema; readonly version?: string } = {},
): EventType<Name, Schema> {
  if (typeof name !== "string" || name === "") {
    throw new HoldfastError("EVENT_INVALID", 'eventType() needs the name of the event, such as "app/user.signed-up".');
  }
  const schema = options.schema as Schema;
  if (schema !== undefined && !isStandardSchema(schema)) {
    throw new HoldfastError(
      "EVENT_INVALID",
      `The schema of event "${name}" is not a Standard Schema (version 1): use one from valibot, zod 3.24+ or arktype.`,
    );
  }
  return Object.freeze({
    name,
    event: name,
    schema,
    ...(options.version === undefined ? {} : { version: options.version }),
    create: (data: InputOf<Schema>, extra: { id?: string; ts?: number; v?: string } = {}) => {
      const event = { name, data, ...(options.version === undefined ? {} : { v: options.version }), ...extra };
      if (schema !== undefined) Object.defineProperty(event, SCHEMA, { value: schema });
      return event;
    },
  });
}

/** A schema for types alone: everything passes, TypeScript knows the shape. */
export function staticSchema<T>(): StandardSchema<T, T> {
  return { "~standard": { version: 1, vendor: "holdfast", validate: (value) => ({ value: value as T }) } };
}

export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard = (value as Partial<StandardSchema>)["~standard"];
  return typeof standard === "object" && standard?.version === 1 && typeof standard.validate === "function";
}

/** The schema that an event brings along because `EventType.create` made it. */
export function attachedSchema(event: object): StandardSchema | undefined {
  return (event as { [SCHEMA]?: StandardSchema })[SCHEMA];
}

/**
 * The data as the schema gives it back.
 * @throws HoldfastError `EVENT_INVALID` that names the first five problems
 */
export async function validateData(schema: StandardSchema, data: unknown, eventName: string): Promise<unknown> {
  const result = await schema["~standard"].validate(data);
  if (result.issues === undefined) return result.value;
  const problems = result.issues.slice(0, 5).map((issue) => `${pathOf(issue)}: ${issue.message}`);
  throw new HoldfastError(
    "EVENT_INVALID",
    `The data of event "${eventName}" does not match its schema: ${problems.join("; ")}`,
  );
}

function pathOf(issue: SchemaIssue): string {
  const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  return ["data", ...path].join(".");
}
