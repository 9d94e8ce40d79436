/** The node types: what each does, its ways out, and its config. Checks, JSON Schema and reference come from this table. */

import { own } from "../json/json-size.ts";
import { DEFAULT_HANDLE, ERROR_HANDLE, type NodeConfig } from "./graph.ts";
import { GRAPH_LIMITS } from "./limits.ts";

/** What may stand in a field of a config. Where `templates` is set, texts may be templates. */
export type FieldKind =
  | { readonly kind: "value"; readonly templates: true }
  | { readonly kind: "values"; readonly templates: true }
  | { readonly kind: "match"; readonly templates: true }
  | { readonly kind: "text"; readonly templates: boolean; readonly maxChars: number }
  | { readonly kind: "url"; readonly templates: true; readonly maxChars: number }
  | { readonly kind: "duration"; readonly templates: true; readonly maxMs?: number }
  | { readonly kind: "instant"; readonly templates: true }
  | { readonly kind: "name" }
  | { readonly kind: "integer"; readonly min: number; readonly max: number }
  | { readonly kind: "choice"; readonly of: readonly string[] }
  | { readonly kind: "branches" }
  | { readonly kind: "code" }
  | { readonly kind: "waitExpression" };

export interface ConfigField {
  readonly summary: string;
  readonly required?: true;
  readonly default?: string;
  readonly type: FieldKind;
}

/** What the checks need of a type that the app registered. */
export interface NodeTypeInfo {
  readonly type: string;
  /** Ways out beside `out` and `error`. */
  readonly handles?: readonly string[];
}

export interface BuiltInType {
  readonly summary: string;
  /** What it gives. */
  readonly output: string;
  readonly handles: readonly string[];
  readonly config: Readonly<Record<string, ConfigField>>;
  /** Whether `retries` count. */
  readonly retries: boolean;
  /** Whether it can have `compensate`. */
  readonly undoable: boolean;
  /** Whether it can be what `compensate` runs. */
  readonly undoes: boolean;
}

const value = { kind: "value", templates: true } as const;
const text = (maxChars = 8_192) => ({ kind: "text", templates: true, maxChars }) as const;
const OUT_AND_ERROR = [DEFAULT_HANDLE, ERROR_HANDLE];
const TIMEOUT: ConfigField = {
  summary: "How long it is waited for; then the `timeout` handle is taken.",
  required: true,
  type: { kind: "duration", templates: true },
};
const plain = { retries: false, undoable: false, undoes: false } as const;

export const BUILT_IN_TYPES = {
  start: {
    summary: "Where a run begins. Its input was checked against the graph's `input`.",
    output: "The input, which is `ctx.input` as well.",
    handles: [DEFAULT_HANDLE],
    config: {},
    ...plain,
  },
  end: {
    summary:
      "Collects what the run gives. Where several ran, their parameters are put together in the order of `nodes`.",
    output: "Its parameters.",
    handles: [],
    config: {
      outputParameters: {
        summary: "Name and value of each output of the run.",
        default: "{}",
        type: { kind: "values", templates: true },
      },
    },
    ...plain,
  },
  function: {
    summary: "Runs a function of any connected app, as a run of its own, and waits for its end.",
    output: "What the function returns.",
    handles: OUT_AND_ERROR,
    config: {
      function: {
        summary: "Id of the function as the gateway has it: id of its app, hyphen, its own id.",
        required: true,
        type: text(512),
      },
      input: { summary: "The data of its event.", default: "{}", type: value },
      timeout: {
        summary: "How long its end is waited for; then the node fails with `InvokeTimeoutError`.",
        default: "a year",
        type: { kind: "duration", templates: true },
      },
    },
    retries: false,
    undoable: true,
    undoes: false,
  },
  http: {
    summary: "A request that the gateway makes; the app holds nothing meanwhile.",
    output: "`{ status, headers, body }`; the body as JSON where it is JSON, otherwise as text.",
    handles: OUT_AND_ERROR,
    config: {
      url: {
        summary:
          "Absolute, `http:` or `https:`. A gateway that other machines can reach calls no address of its own machine and network, unless it has `--allow-private-fetch`.",
        required: true,
        type: { kind: "url", templates: true, maxChars: 8_192 },
      },
      method: {
        summary: "The method.",
        default: "GET",
        type: { kind: "choice", of: ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] },
      },
      headers: { summary: "Headers by name.", default: "{}", type: { kind: "values", templates: true } },
      body: { summary: "A text is sent as it is, anything else as JSON.", default: "none", type: value },
      allowStatus: {
        summary: "`success` = any status but 2xx is a failure; `any` = the node looks at no status.",
        default: "success",
        type: { kind: "choice", of: ["success", "any"] },
      },
    },
    retries: false,
    undoable: true,
    undoes: false,
  },
  condition: {
    summary: "Takes the handle of the first branch whose expression is true, in order, or `else`.",
    output: "`{ branch }`, the id of the branch that was taken.",
    handles: [ERROR_HANDLE],
    config: {
      branches: {
        summary: "Branches in order: `{ id, if }`; `if` is CEL over `ctx`.",
        required: true,
        type: { kind: "branches" },
      },
    },
    ...plain,
  },
  delay: {
    summary: "Waits; nothing is held meanwhile.",
    output: "null",
    handles: OUT_AND_ERROR,
    config: {
      duration: {
        summary: 'Milliseconds, or text such as "90s", "2h".',
        required: true,
        type: { kind: "duration", templates: true },
      },
    },
    ...plain,
  },
  until: {
    summary: "Waits until a point in time; nothing is held meanwhile.",
    output: "null",
    handles: OUT_AND_ERROR,
    config: {
      time: {
        summary:
          "ISO 8601 text, or milliseconds since the Unix epoch, at most 366 days ahead: a later one fails the node. A time that is over does not wait.",
        required: true,
        type: { kind: "instant", templates: true },
      },
    },
    ...plain,
  },
  waitForEvent: {
    summary: "Waits for an event.",
    output: "The event: `{ name, data, ts, id }`; null after the timeout.",
    handles: [DEFAULT_HANDLE, "timeout", ERROR_HANDLE],
    config: {
      event: { summary: "The event's name.", required: true, type: text(256) },
      timeout: TIMEOUT,
      match: {
        summary:
          'Only an event that has these values at these paths, such as `{ "data.orderId": "{{ctx.order.id}}" }`. None may be null, which events without that field have as well.',
        default: "{}",
        type: { kind: "match", templates: true },
      },
      if: {
        summary: "Only an event for which this is true: CEL over `async`, the event.",
        default: "none",
        type: { kind: "waitExpression" },
      },
    },
    ...plain,
  },
  approval: {
    summary:
      "Waits for a decision: a signal with the data `{ approved: true }` or `{ approved: false }`. Others are refused.",
    output: "The data of the signal; null after the timeout.",
    handles: ["approved", "rejected", "timeout", ERROR_HANDLE],
    config: {
      signal: {
        summary: "Name of the signal, unique to the run.",
        default:
          "`graph:<run id>:<key>`. The key of a node `ask` is `ask`, in a loop `ask[0]`, in a subgraph `s` it is `s/ask`, in one that is in a loop `s[0]/ask`",
        type: text(256),
      },
      timeout: TIMEOUT,
    },
    ...plain,
  },
  loop: {
    summary: "Runs the nodes behind its `loop` handle once for each item. Edges back to it are optional.",
    output: "A list with what each iteration gives.",
    handles: ["loop", "done", ERROR_HANDLE],
    config: {
      items: { summary: "A template that gives a list.", required: true, type: value },
      concurrency: {
        summary: "How many iterations run at once; the next begins when one has ended.",
        default: "1",
        type: { kind: "integer", min: 1, max: GRAPH_LIMITS.maxLoopConcurrency },
      },
      item: { summary: "Name of the item in `ctx`, within the body.", default: "item", type: { kind: "name" } },
      index: { summary: "Name of its index in `ctx`, from 0.", default: "index", type: { kind: "name" } },
      collect: {
        summary: "What an iteration gives, with all nodes of the body in `ctx`.",
        default: "the output of the node with an edge back, null without one",
        type: value,
      },
    },
    ...plain,
  },
  javascript: {
    summary: "Code of your users, in a sandbox that has `ctx` and nothing else.",
    output: "What the code returns, as JSON.",
    handles: OUT_AND_ERROR,
    config: {
      code: {
        summary: "Body of an async function: `return` and `await` work. `ctx` is frozen; `console` goes to the log.",
        required: true,
        type: { kind: "code" },
      },
      timeout: {
        summary: "How long it may take, at most 5 min.",
        default: "30s",
        type: { kind: "duration", templates: true, maxMs: 300_000 },
      },
      memoryMb: {
        summary: "The most memory that it may take, in megabytes.",
        default: "64",
        type: { kind: "integer", min: 1, max: 512 },
      },
    },
    retries: true,
    undoable: true,
    undoes: true,
  },
  subgraph: {
    summary: "Runs another stored graph in place of this node, in the version that is named.",
    output: "What that graph's `end` nodes give.",
    handles: OUT_AND_ERROR,
    config: {
      graph: {
        summary: "Id of the graph, of the same tenant.",
        required: true,
        type: { kind: "text", templates: false, maxChars: GRAPH_LIMITS.maxIdChars },
      },
      version: {
        summary: "Its version.",
        required: true,
        type: { kind: "integer", min: 1, max: 2_147_483_647 },
      },
      input: { summary: "Its input.", default: "null", type: value },
    },
    ...plain,
  },
} as const satisfies Readonly<Record<string, BuiltInType>>;

export type BuiltInName = keyof typeof BUILT_IN_TYPES;

export const isBuiltIn = (type: string): type is BuiltInName => Object.hasOwn(BUILT_IN_TYPES, type);

export const builtIn = (type: string): BuiltInType | undefined => (isBuiltIn(type) ? BUILT_IN_TYPES[type] : undefined);

/** All ways out of a node, in order; null = not known, since the type is not. */
export function handlesOf(
  node: { readonly type: string; readonly config?: NodeConfig | undefined },
  types: readonly NodeTypeInfo[] | "any",
): readonly string[] | null {
  if (node.type === "condition") {
    const branches = own(node.config, "branches");
    const ids = Array.isArray(branches) ? branches.map((branch) => own(branch, "id")) : [];
    return [...ids.filter((id) => typeof id === "string"), "else", ERROR_HANDLE];
  }
  const own_ = builtIn(node.type);
  if (own_) return own_.handles;
  if (types === "any") return null;
  const found = types.find(({ type }) => type === node.type);
  return found ? [...OUT_AND_ERROR, ...(found.handles ?? [])] : null;
}
