/** `nodeType()`: a node type of the app, what it can do for those who draw. */
import { describeValue, HoldfastError } from "@holdfast/core";
import type { LoggerLike, SchemaOutput, SchemaResult, StandardSchema } from "holdfast";
import { DEFAULT_HANDLE, ERROR_HANDLE, type GraphNode } from "../definition/graph.ts";
import { isBuiltIn, type NodeTypeInfo } from "../definition/node-types.ts";
import { HANDLE_KEY } from "../interpret/outcome.ts";
import { own } from "../json/json-size.ts";

/** What `run` of a node type is given. */
export interface NodeContext<Config> {
  /** With templates filled in, as the schema gives it. */
  readonly config: Config;
  /** Outputs of the nodes on the way to this one, by name; `input` and `run` as well. */
  readonly ctx: Readonly<Record<string, unknown>>;
  /** Fires when the work is not wanted any more. */
  readonly signal: AbortSignal;
  /** Its lines name run and node. */
  readonly logger: LoggerLike;
  readonly nodeId: string;
  readonly runId: string;
}

export interface NodeTypeOptions<Schema extends StandardSchema> {
  /** How graphs name it: letters, digits, `_`, `-`, `.`. */
  readonly type: string;
  /** For people who draw. */
  readonly summary?: string;
  /** Checks the config once its templates are filled in. */
  readonly config: Schema;
  /** Ways on beside `out` and `error`; `run` takes one with `takeHandle`. */
  readonly handles?: readonly string[];
  /** What the node does, as the body of a step: at least once until it has succeeded, then never again in that run. */
  readonly run: (context: NodeContext<SchemaOutput<Schema>>) => unknown;
}

/** A node type, as `graphs(app, { nodeTypes })` takes it. */
export interface NodeType extends NodeTypeInfo {
  readonly summary?: string;
  readonly config: StandardSchema;
  /** Checks the config and gives what `run` returns: a promise only where the schema or `run` gives one. */
  execute(config: unknown, context: Omit<NodeContext<unknown>, "config">): unknown;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

/**
 * A node type of the app:
 *
 *     const dataQuery = nodeType({
 *       type: "dataQuery",
 *       config: v.object({ query: v.string(), args: v.optional(v.record(v.string(), v.unknown())) }),
 *       run: ({ config, signal }) => queries.execute(config.query, config.args, { signal }),
 *     });
 *
 * @throws HoldfastError `GRAPH_NODE_TYPE_INVALID`
 */
export function nodeType<Schema extends StandardSchema>(options: NodeTypeOptions<Schema>): NodeType {
  const { type, config, handles = [], run, summary } = options;
  const refuse = (why: string): never => {
    throw new HoldfastError("GRAPH_NODE_TYPE_INVALID", `The node type ${describeValue(type)} cannot be used: ${why}.`);
  };
  if (typeof type !== "string" || !NAME.test(type) || type.length > 100) refuse("its name is no name");
  if (isBuiltIn(type)) refuse("there is a built-in type of this name");
  if (typeof run !== "function") refuse("`run` is no function");
  if (typeof config?.["~standard"]?.validate !== "function") refuse("`config` is no Standard Schema");
  const wrong = handles.find((handle) => !NAME.test(handle) || handle === DEFAULT_HANDLE || handle === ERROR_HANDLE);
  if (wrong !== undefined) refuse(`it cannot have the handle ${describeValue(wrong)} of its own`);
  return Object.freeze({
    type,
    config,
    handles,
    ...(summary === undefined ? {} : { summary }),
    execute: (given: unknown, context: Omit<NodeContext<unknown>, "config">) => {
      const result = config["~standard"].validate(given);
      const go = (checked: Checked<Schema>): unknown => run(withConfig(context, configOf(checked, context.nodeId)));
      return "then" in result ? result.then(go) : go(result);
    },
  });
}

/** `ctx` and `signal` are asked for when `run` asks for them. */
function withConfig<Config>(context: Omit<NodeContext<unknown>, "config">, config: Config): NodeContext<Config> {
  const { logger, nodeId, runId } = context;
  return {
    config,
    get ctx() {
      return context.ctx;
    },
    get signal() {
      return context.signal;
    },
    logger,
    nodeId,
    runId,
  };
}

type Checked<Schema extends StandardSchema> = SchemaResult<SchemaOutput<Schema>>;

function configOf<Value>(result: SchemaResult<Value>, nodeId: string): Value {
  if (result.issues === undefined) return result.value;
  const issues = result.issues.slice(0, 5).map(({ message, path = [] }) => {
    const at = path.map((step) => String(typeof step === "object" ? step.key : step)).join(".");
    return at === "" ? message : `${at}: ${message}`;
  });
  throw new HoldfastError("GRAPH_CONFIG_INVALID", `The config of node "${nodeId}" is invalid: ${issues.join("; ")}`);
}

/**
 * What a node of the type gave, if it has the handle that it takes: nothing would follow at another one.
 * @throws HoldfastError `GRAPH_HANDLE_UNKNOWN`
 */
export function checkedWay({ id, type }: GraphNode, info: NodeTypeInfo | undefined, given: unknown): unknown {
  const handle = own(given, HANDLE_KEY);
  const handles = [DEFAULT_HANDLE, ERROR_HANDLE, ...(info?.handles ?? [])];
  if (typeof handle !== "string" || handles.includes(handle)) return given;
  const message = `Node "${id}" took the handle ${describeValue(handle)}, which its type "${type}" does not have; it has ${handles.join(", ")}.`;
  throw new HoldfastError("GRAPH_HANDLE_UNKNOWN", message);
}

/** What `run` returns to go on at a handle of its type's own: `return takeHandle("empty", rows)`. */
export function takeHandle(handle: string, output: unknown): unknown {
  return { [HANDLE_KEY]: handle, output };
}
