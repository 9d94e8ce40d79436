/** What starts a function, in words. */
import type { JSX } from "preact";
import type { Trigger } from "../data/types.ts";

export function triggerText({ pattern, event, cron }: Trigger): string {
  const name = pattern ?? event;
  if (name !== undefined) return name;
  return cron === undefined ? "by invocation" : `at ${cron}`;
}

export function Triggers({ triggers }: { readonly triggers: readonly Trigger[] }): JSX.Element {
  if (triggers.length === 0) return <span>only invoked</span>;
  return <bdi>{triggers.map(triggerText).join(", ")}</bdi>;
}

/** The events that start it, by name. */
export const eventNames = (triggers: readonly Trigger[]): string[] =>
  triggers.flatMap(({ pattern, event }) => pattern ?? event ?? []);
