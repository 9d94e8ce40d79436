/** How runs of a graph come about: what input they take, and what triggers them. */
import { describeValue } from "@holdfast/core";
import { expressionProblem } from "@holdfast/engine";
import { isObject, measureJson, own } from "../json/json-size.ts";
import { schemaProblems } from "./check-input.ts";
import { GRAPH_LIMITS } from "./limits.ts";
import type { Problems } from "./problems.ts";

export function checkInputSchema(schema: unknown, problems: Problems): void {
  if (schema === undefined) return;
  const { maxDepth, maxInputSchemaChars: maxChars } = GRAPH_LIMITS;
  const size = measureJson(schema, { maxChars, maxDepth });
  if (!size.ok) {
    const message = `\`input\` has ${size.what}.`;
    problems.add({ code: "TOO_LARGE", path: "input", message, fix: "Describe less of the input." });
    return;
  }
  for (const problem of schemaProblems(schema)) {
    const fix = "Correct the schema; it is JSON Schema, draft 2020-12, without references.";
    problems.add({ code: "SCHEMA_INVALID", path: "input", message: `The schema of the input: ${problem}.`, fix });
  }
}

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
  for (const [index, each] of events.entries()) report(`trigger.events[${index}]`, eventProblem(each), problems);
  for (const [index, each] of cron.entries()) report(`trigger.cron[${index}]`, cronProblem(each), problems);
}

function report(path: string, problem: string | null, problems: Problems): void {
  if (problem === null) return;
  problems.add({ code: "TRIGGER_INVALID", path, message: `${path} cannot be used: ${problem}.`, fix: "Correct it." });
}

function eventProblem(trigger: unknown): string | null {
  const [event, condition] = [own(trigger, "event"), own(trigger, "if")];
  if (typeof event !== "string" || event === "" || event.length > 256) return "it names no event";
  if (condition === undefined) return null;
  if (typeof condition !== "string") return "its `if` is no expression";
  return expressionProblem(condition, "event")?.replace(/\.$/, "") ?? null;
}

/** What the fields may be is the affair of the gateway, which has the calendar. */
function cronProblem(trigger: unknown): string | null {
  const [cron, timezone] = [own(trigger, "cron"), own(trigger, "timezone")];
  const isCron = typeof cron === "string" && cron.length <= 200 && [5, 6].includes(cron.trim().split(/\s+/).length);
  if (!isCron) return "`cron` has five fields, or six with seconds";
  return timezone === undefined || typeof timezone === "string" ? null : "its `timezone` is no name";
}
