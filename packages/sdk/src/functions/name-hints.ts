/**
 * Names of events that are probably misspelt: an app that declares its events in `schemas` names one that it has not
 * declared, and that differs from a declared one by a letter or two. It may be another app's, so this is a hint and no error.
 */
import { type Log, nearestName } from "@holdfast/core";
import type { SchemaMap } from "../events/event-types.ts";

/** More would name events that are meant as they are, such as `order.created` beside `order.updated`. */
const MOST_EDITS = 2;
/** Events that the gateway makes. */
const WITHIN = "inngest/";

/** What `place` names instead of a declared event, in a sentence; undefined: nothing comes close, or it is declared. */
export function nameHint(schemas: SchemaMap | undefined, name: string, place: string): string | undefined {
  if (schemas === undefined || Object.hasOwn(schemas, name)) return undefined;
  if (name.includes("*") || name.startsWith(WITHIN)) return undefined;
  const near = nearestName(name, Object.keys(schemas), MOST_EDITS);
  if (near === undefined) return undefined;
  return `${place} names the event "${name}", which the app's \`schemas\` do not have. Did you mean "${near}"? Declare it there, or with eventType(), if not.`;
}

/** What the options of a function name: its triggers without a schema of their own, and what cancels its runs. */
export function hintsOf(
  schemas: SchemaMap | undefined,
  options: { readonly triggers?: unknown; readonly cancelOn?: unknown },
): readonly string[] {
  if (schemas === undefined) return [];
  return [...named(options.triggers, "triggers"), ...named(options.cancelOn, "cancelOn")].flatMap(
    ({ name, place }) => nameHint(schemas, name, place) ?? [],
  );
}

/** Events that are named by strings; declared ones are meant as they are. */
function named(given: unknown, option: string): readonly { readonly name: string; readonly place: string }[] {
  return [given ?? []].flat().flatMap((entry: unknown, index) => {
    const { event, schema } = (entry ?? {}) as { readonly event?: unknown; readonly schema?: unknown };
    if (typeof event !== "string" || schema !== undefined || isDeclared(entry)) return [];
    return [{ name: event, place: `\`${option}[${index}]\`` }];
  });
}

/** What `eventType()` makes has a name beside its event. */
const isDeclared = (entry: unknown): boolean => typeof (entry as { readonly create?: unknown }).create === "function";

/** Of each client what was looked at: looking costs more than a step, and names that are made by code have no end. */
const looked = new WeakMap<object, Set<string>>();
const MOST_LOOKED = 1_000;

/** Logs a hint of a run's handler, if there is one; `what` is looked at once. */
export function hintOnce(of: object, what: string, hint: () => string | undefined, log: Log): void {
  const before = looked.get(of) ?? new Set();
  looked.set(of, before);
  if (before.has(what) || before.size >= MOST_LOOKED) return;
  before.add(what);
  const found = hint();
  if (found !== undefined) log("warn", found);
}
