/** What can be said of each node by itself: its type, its config, joins, errors, retries, names of outputs. */
import { describeValue } from "@holdfast/core";
import { isObject, measureJson, own } from "../json/json-size.ts";
import { GRAPH_LIMITS } from "./limits.ts";
import { BUILT_IN_TYPES, builtIn, isBuiltIn, type NodeTypeInfo } from "./node-types.ts";
import type { Problems } from "./problems.ts";
import type { ReadGraph, ReadNode } from "./read-graph.ts";

/** Names in `ctx` that no node may have. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(["input", "run", "output", "error"]);
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const PROTOTYPE_NAMES = new Set(["__proto__", "constructor", "prototype"]);

/** What the output of a node is called in `ctx`. */
export const outputNameOf = ({
  id,
  outputVariable,
}: {
  readonly id: string;
  readonly outputVariable?: string;
}): string => outputVariable ?? id;

/** Names that a config may give to values in `ctx`. */
export const isCtxName = (name: unknown): name is string =>
  typeof name === "string" && name.length <= GRAPH_LIMITS.maxIdChars && NAME.test(name) && !PROTOTYPE_NAMES.has(name);

export function checkNodes(graph: ReadGraph, types: readonly NodeTypeInfo[] | "any", problems: Problems): void {
  const ids = new Set<string>();
  const names = new Map<string, string>();
  for (const node of graph.nodes) {
    const place = { nodeId: node.id, path: `nodes[${node.index}]` };
    if (ids.has(node.id)) {
      const message = `Two nodes have the id "${node.id}".`;
      problems.add({ code: "NODE_DUPLICATE", ...place, message, fix: "Give each node an id of its own." });
    } else checkName(node, names, problems);
    ids.add(node.id);
    checkType(node, types, problems);
    checkSettings(node, problems);
    checkCompensation(node, types, problems);
  }
}

function checkType({ id, type, index }: ReadNode, types: readonly NodeTypeInfo[] | "any", problems: Problems): void {
  if (isBuiltIn(type) || types === "any" || types.some((one) => one.type === type)) return;
  const known = [...Object.keys(BUILT_IN_TYPES), ...types.map((one) => one.type)];
  const fix = `Use one of ${known.join(", ")}, or register it with \`nodeType\`.`;
  const message = `There is no node type ${describeValue(type)}.`;
  problems.add({ code: "TYPE_UNKNOWN", nodeId: id, path: `nodes[${index}].type`, message, fix });
}

function checkCompensation(node: ReadNode, types: readonly NodeTypeInfo[] | "any", problems: Problems): void {
  const { compensate } = node;
  if (compensate === undefined) return;
  const report = (message: string, fix: string): void =>
    problems.add({
      code: "COMPENSATE_INVALID",
      nodeId: node.id,
      path: `nodes[${node.index}].compensate`,
      message,
      fix,
    });
  if (builtIn(node.type)?.undoable === false) {
    report(`A node of type ${node.type} has no effect that could be undone.`, "Remove `compensate`.");
  }
  const [type, config] = [own(compensate, "type"), own(compensate, "config")];
  const undoes =
    typeof type === "string" && (builtIn(type)?.undoes ?? (types === "any" || types.some((one) => one.type === type)));
  if (!undoes) {
    const what = `"${node.id}" cannot be undone by a node of type ${describeValue(type)}.`;
    report(what, "Use `javascript` or a type of the app.");
  }
  if (config !== undefined && !isObject(config))
    report(`The config that undoes "${node.id}" is no object.`, "Give an object.");
  const more = isObject(compensate) ? Object.keys(compensate).filter((key) => key !== "type" && key !== "config") : [];
  if (more.length > 0)
    report(`\`compensate\` of "${node.id}" has no field ${describeValue(more[0])}.`, "Give { type, config }.");
  const size = measureJson(config, { maxChars: GRAPH_LIMITS.maxConfigChars, maxDepth: GRAPH_LIMITS.maxDepth });
  if (!size.ok)
    report(
      `The config that undoes "${node.id}" has ${size.what}.`,
      "Keep large data elsewhere, and let it be fetched.",
    );
}

function checkName(node: ReadNode, names: Map<string, string>, problems: Problems): void {
  const name = outputNameOf(node);
  const place = { nodeId: node.id, path: `nodes[${node.index}].outputVariable` };
  const valid = node.outputVariable === undefined ? !PROTOTYPE_NAMES.has(name) : isCtxName(name);
  if (!valid || RESERVED_NAMES.has(name)) {
    const message = `The output of "${node.id}" cannot be called ${describeValue(name)}.`;
    const fix = `Give \`outputVariable\` as a name of letters, digits and \`_\`; ${[...RESERVED_NAMES].join(", ")} are taken.`;
    problems.add({ code: "OUTPUT_NAME_INVALID", ...place, message, fix });
    return;
  }
  const other = names.get(name);
  if (other === undefined) {
    names.set(name, node.id);
    return;
  }
  const message = `The outputs of "${other}" and "${node.id}" are both called "${name}".`;
  const fix = "Give them names of their own; `{{ctx.a ?? ctx.b}}` reads whichever there is.";
  problems.add({ code: "OUTPUT_NAME_TAKEN", ...place, message, fix });
}

function checkSettings({ id, type, index, joinMode, onError, retries }: ReadNode, problems: Problems): void {
  const place = (field: string) => ({ nodeId: id, path: `nodes[${index}].${field}` });
  if (joinMode !== undefined && joinMode !== "all" && joinMode !== "any") {
    const message = `The join mode of "${id}" cannot be ${describeValue(joinMode)}.`;
    const fix = "Use `all` (default), or `any` to run when the first incoming edge is taken.";
    problems.add({ code: "JOIN_INVALID", ...place("joinMode"), message, fix });
  }
  if (onError !== undefined && onError !== "continue" && onError !== "fail") {
    const message = `\`onError\` of "${id}" cannot be ${describeValue(onError)}.`;
    const fix = "Use `continue` to go on at the `error` handle, or `fail` to end the run.";
    problems.add({ code: "ON_ERROR_INVALID", ...place("onError"), message, fix });
  }
  if (onError === "continue" && (type === "start" || type === "end")) {
    const message = `A node of type ${type} has no \`error\` handle, and "${id}" has \`onError\`.`;
    problems.add({ code: "ON_ERROR_INVALID", ...place("onError"), message, fix: "Remove it." });
  }
  if (retries === undefined) return;
  const takesNone = builtIn(type)?.retries === false;
  const valid = Number.isSafeInteger(retries) && retries >= 0 && retries <= GRAPH_LIMITS.maxRetries;
  if (valid && !takesNone) return;
  const message = takesNone
    ? `A node of type ${type} is not tried again, and "${id}" has \`retries\`.`
    : `\`retries\` of "${id}" cannot be ${describeValue(retries)}.`;
  const fix = takesNone ? "Remove it." : `Give a whole number from 0 to ${GRAPH_LIMITS.maxRetries}.`;
  problems.add({ code: "RETRIES_INVALID", ...place("retries"), message, fix });
}
