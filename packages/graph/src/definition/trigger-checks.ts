/** What triggers runs of a graph. All of it is known here: the gateway that stores a graph asks nothing more of it. */
import { describeValue } from "@holdfast/core";
import { checkCron, expressionProblem } from "@holdfast/engine";
import { isObject, own } from "../json/json-size.ts";
import type { GraphCronTrigger } from "./graph.ts";
import { GRAPH_LIMITS } from "./limits.ts";
import type { Problems } from "./problems.ts";

/** What is wrong with one trigger, and how it is put right. */
type Flaw = readonly [message: string, fix: string];

const MAX_CRON_CHARS = 200;

export function checkTrigger(trigger: unknown, problems: Problems): void {
  if (trigger === undefined) return;
  const [events, cron] = [own(trigger, "events") ?? [], own(trigger, "cron") ?? []];
  const isKnown = isObject(trigger) && Object.keys(trigger).every((key) => key === "events" || key === "cron");
  if (!isKnown || !Array.isArray(events) || !Array.isArray(cron)) {
    const message = `\`trigger\` cannot be ${describeValue(trigger)}.`;
    const fix = 'Give { "events": [{ "event": "shop/paid" }], "cron": [{ "cron": "0 9 * * *" }] }, or leave it out.';
    problems.add({ code: "TRIGGER_INVALID", path: "trigger", message, fix });
    return;
  }
  if (events.length + cron.length > GRAPH_LIMITS.maxTriggers) {
    const message = `There are more than ${GRAPH_LIMITS.maxTriggers} triggers.`;
    problems.add({ code: "TOO_LARGE", path: "trigger", message, fix: "Have one event lead to the others." });
    return;
  }
  for (const [index, each] of events.entries()) report(`trigger.events[${index}]`, eventFlaws(each), problems);
  for (const [index, each] of cron.entries()) report(`trigger.cron[${index}]`, cronFlaws(each), problems);
}

function report(path: string, flaws: readonly Flaw[], problems: Problems): void {
  for (const [what, fix] of flaws) {
    problems.add({ code: "TRIGGER_INVALID", path, message: `\`${path}\` cannot be used: ${what}`, fix });
  }
}

function eventFlaws(trigger: unknown): readonly Flaw[] {
  const [event, condition] = [own(trigger, "event"), own(trigger, "if")];
  if (typeof event !== "string" || (condition !== undefined && typeof condition !== "string")) {
    const fix = 'Give { "event": "shop/order.placed" }, with `if` as CEL or without.';
    return [["it is no event that triggers.", fix]];
  }
  const found: Flaw[] = [];
  if (event === "" || event.length > GRAPH_LIMITS.maxEventNameChars || event.includes("\0")) {
    found.push([
      `${describeValue(event)} cannot be the name of an event.`,
      `Give a name such as \`shop/order.placed\`, of at most ${GRAPH_LIMITS.maxEventNameChars} characters.`,
    ]);
  }
  if (/^(inngest|holdfast)\//.test(event)) {
    const fix = "Use a function with that trigger, which sends an event of your own.";
    found.push([`"${event}" is an event of the gateway's own, which starts no graphs.`, fix]);
  }
  if (/\*/.test(event.slice(0, -1)) || (/\*$/.test(event) && !/(^|[/.])\*$/.test(event))) {
    found.push([`"${event}" is no pattern.`, "A `*` comes last, after `/` or `.`."]);
  }
  const why = condition === undefined ? null : expressionProblem(condition, "event");
  if (why !== null) found.push([`the condition of "${event}" is no CEL over \`event\`. ${why}`, "Correct its CEL."]);
  return found;
}

function cronFlaws(trigger: unknown): readonly Flaw[] {
  const [cron, timezone] = [own(trigger, "cron"), own(trigger, "timezone")];
  if (typeof cron !== "string" || (timezone !== undefined && typeof timezone !== "string")) {
    const fix = 'Give { "cron": "0 9 * * *" }, with `timezone` as an IANA name or without.';
    return [["it is no schedule.", fix]];
  }
  const fix = "Give five fields, or six with seconds, and an IANA time zone.";
  if (cron.length > MAX_CRON_CHARS) return [[`its schedule has more than ${MAX_CRON_CHARS} characters.`, fix]];
  const why = checkCron(cronText({ cron, ...(timezone === undefined ? {} : { timezone }) }));
  return why === null ? [] : [[why, fix]];
}

/** A schedule with its zone, as functions write it. */
const cronText = ({ cron, timezone }: GraphCronTrigger): string => (timezone ? `TZ=${timezone} ${cron}` : cron);
