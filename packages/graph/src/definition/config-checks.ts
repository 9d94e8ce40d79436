/** The configs of built-in types against the table of their fields. Texts with templates are checked when they are filled in. */
import { describeValue, messageOf, parseDurationMs } from "@holdfast/core";
import { expressionProblem, matchPathProblem } from "@holdfast/engine";
import { isObject, own } from "../json/json-size.ts";
import { eventPathOf } from "../templates/event-path.ts";
import { branchFlaws, expressionFlaws, type Flaw } from "./condition-checks.ts";
import { isHttpUrl } from "./http-url.ts";
import { isCtxName } from "./node-checks.ts";
import { builtIn, type ConfigField } from "./node-types.ts";
import type { Problems } from "./problems.ts";
import { isGraphId, type ReadNode } from "./read-graph.ts";

const hasTemplate = (value: unknown): boolean => typeof value === "string" && value.includes("{{");

/** "run": it was stored, perhaps by an earlier release. */
export function checkConfig(node: ReadNode, problems: Problems, what: "stored" | "run"): void {
  checkFields(node, { type: node.type, config: node.config, at: "config", what }, problems);
  const { compensate } = node;
  const [type, config] = [own(compensate, "type"), own(compensate, "config") ?? {}];
  if (typeof type !== "string" || builtIn(type)?.undoes === false || !isObject(config)) return;
  checkFields(node, { type, config, at: "compensate.config", what }, problems);
}

interface CheckedFields {
  readonly type: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** Where it stands in the node. */
  readonly at: "config" | "compensate.config";
  readonly what: "stored" | "run";
}

function checkFields(node: ReadNode, { type: name, config, at, what }: CheckedFields, problems: Problems): void {
  const type = builtIn(name);
  if (type === undefined) return;
  const whose = at === "config" ? "of" : "of what undoes";
  const add = (field: string, { code = "CONFIG_INVALID", within = "", what, fix }: Flaw): void =>
    problems.add({
      code,
      nodeId: node.id,
      path: `nodes[${node.index}].${at}.${field}${within}`,
      message: `\`${field}${within}\` ${whose} node "${node.id}" (${name}) ${what}.`,
      fix,
    });
  for (const key of Object.keys(config)) {
    if (Object.hasOwn(type.config, key)) continue;
    const known = Object.keys(type.config);
    const fix = known.length === 0 ? "Remove it; the type has no config." : `Remove it; there are ${known.join(", ")}.`;
    add(key, { code: "FIELD_UNKNOWN", what: "is not there", fix });
  }
  for (const [field, each] of Object.entries(type.config)) {
    const value = own(config, field);
    if (value === undefined) {
      if (each.required) add(field, { what: "is missing", fix: each.summary });
      continue;
    }
    for (const flaw of flawsOf(each, value, what)) add(field, flaw);
  }
}

function flawsOf(field: ConfigField, value: unknown, what: "stored" | "run"): Flaw[] {
  const { type, summary: fix } = field;
  const wrong = (what: string): Flaw[] => [{ what: `${what}, not ${describeValue(value)}`, fix }];
  switch (type.kind) {
    case "value":
      return [];
    case "values":
      return isObject(value) || hasTemplate(value) ? [] : wrong("must be an object");
    case "match":
      return matchFlaws(value, fix);
    case "code":
      return typeof value === "string" && value.trim() !== "" ? [] : wrong("must be code");
    case "text":
      if (typeof value !== "string" || value === "" || value.length > type.maxChars) {
        return wrong(`must be a text of 1 to ${type.maxChars} characters`);
      }
      return type.templates || isGraphId(value) ? [] : wrong("must be an id");
    case "url":
      if (typeof value !== "string" || value === "" || value.length > type.maxChars) {
        return wrong(`must be a text of 1 to ${type.maxChars} characters`);
      }
      return hasTemplate(value) || isHttpUrl(value) ? [] : wrong("must be an absolute http or https URL");
    case "duration":
      return hasTemplate(value) ? [] : durationFlaws(value, type.maxMs, fix);
    case "instant": {
      const isTime = typeof value === "number" || (typeof value === "string" && !Number.isNaN(Date.parse(value)));
      return isTime || hasTemplate(value) ? [] : wrong("must be a point in time");
    }
    case "name":
      return isCtxName(value) ? [] : wrong("must be a name of letters, digits and `_`");
    case "integer":
      return Number.isSafeInteger(value) && Number(value) >= type.min && Number(value) <= type.max
        ? []
        : wrong(`must be a whole number from ${type.min} to ${type.max}`);
    case "choice":
      if (type.of.includes(String(value))) return [];
      return [{ what: `cannot be ${describeValue(value)}`, fix: `Use one of ${type.of.join(", ")}.` }];
    case "branches":
      return branchFlaws(value, fix, what);
    case "waitExpression":
      return typeof value === "string"
        ? expressionFlaws(value, "async", expressionProblem(value, "async"))
        : wrong("must be an expression");
  }
}

function matchFlaws(value: unknown, fix: string): Flaw[] {
  if (hasTemplate(value)) return [];
  if (!isObject(value)) return [{ what: `must be an object, not ${describeValue(value)}`, fix }];
  return Object.entries(value).flatMap(([path, wanted]) => {
    if (eventPathOf(path) === undefined) {
      return [{ what: `has ${describeValue(path)}, which is no path in an event`, fix }];
    }
    const problem = matchPathProblem(path);
    if (problem !== null) return [{ what: `has a path that ${problem}`, fix }];
    if (wanted !== null) return [];
    return [{ what: `has null for ${describeValue(path)}`, fix: "To match events without that field use `if`." }];
  });
}

function durationFlaws(value: unknown, maxMs: number | undefined, fix: string): Flaw[] {
  try {
    parseDurationMs(value as string | number, "It", maxMs === undefined ? {} : { minMs: 1, maxMs });
    return [];
  } catch (error) {
    return [{ code: "DURATION_INVALID", what: `cannot be read: ${messageOf(error).replace(/\.$/, "")}`, fix }];
  }
}
