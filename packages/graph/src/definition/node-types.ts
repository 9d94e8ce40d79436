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

/** A field of a config. */
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

/** A type of nodes that every graph knows. */
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
  summary: "How long to wait; after that the `timeout` handle is taken.",
  required: true,
  type: { kind: "duration", templates: true },
};
const plain = { retries: false, undoable: false, undoes: false } as const;

export const BUILT_IN_TYPES = {
  start: {
    summary: "Where a run begins. Its input has been checked against the graph's `input` schema.",
    output: "The input, also available as `ctx.input`.",
    handles: [DEFAULT_HANDLE],
    config: {},
    ...plain,
  },
  end: {
    summary:
      "Collects the output of the run. If several `end` nodes ran, their parameters are merged in the order of `nodes`.",
    output: "Its output parameters.",
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
    summary: "Runs a function of any connected app as a separate run, and waits for it to end.",
    output: "What the function returns.",
    handles: OUT_AND_ERROR,
    config: {
      function: {
        summary: "Full id of the function: the app's id, a hyphen, its own id.",
        required: true,
        type: text(512),
      },
      input: { summary: "The data of the event that starts it.", default: "{}", type: value },
      timeout: {
        summary: "How long to wait for its end; after that the node fails with `InvokeTimeoutError`.",
        default: "a year",
        type: { kind: "duration", templates: true },
      },
    },
    retries: false,
    undoable: true,
    undoes: false,
  },
  http: {
    summary: "An HTTP request that the gateway makes; no worker is occupied meanwhile.",
    output: "`{ status, headers, body }`; the body is parsed if it is JSON, otherwise it is text.",
    handles: OUT_AND_ERROR,
    config: {
      url: {
        summary:
          "Absolute, `http:` or `https:`. A gateway that other machines can reach does not call its own machine or private network, unless it was started with `--allow-private-fetch`.",
        required: true,
        type: { kind: "url", templates: true, maxChars: 8_192 },
      },
      method: {
        summary: "The HTTP method.",
        default: "GET",
        type: { kind: "choice", of: ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] },
      },
      headers: { summary: "Headers by name.", default: "{}", type: { kind: "values", templates: true } },
      body: { summary: "A string is sent as it is, anything else as JSON.", default: "none", type: value },
      allowStatus: {
        summary: "`success` = the node fails with any status other than 2xx; `any` = the node accepts every status.",
        default: "success",
        type: { kind: "choice", of: ["success", "any"] },
      },
    },
    retries: false,
    undoable: true,
    undoes: false,
  },
  condition: {
    summary: "Takes the handle of the first branch whose expression is true, otherwise `else`.",
    output: "`{ branch }`, the id of the branch that was taken.",
    handles: [ERROR_HANDLE],
    config: {
      branches: {
        summary:
          "The branches in order, each `{ id, if }`; `if` is a CEL expression over `ctx` that comes to true or false. Null, as of what is missing, is not true; with any other value the node fails.",
        required: true,
        type: { kind: "branches" },
      },
    },
    ...plain,
  },
  delay: {
    summary: "Waits for a duration; no worker is occupied meanwhile.",
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
    summary: "Waits until a point in time; no worker is occupied meanwhile.",
    output: "null",
    handles: OUT_AND_ERROR,
    config: {
      time: {
        summary:
          "ISO 8601 text, or milliseconds since the Unix epoch, at most 366 days ahead: with a later time the node fails. With a time in the past it does not wait.",
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
          'Only an event that has these values at these paths, such as `{ "data.orderId": "{{ctx.order.id}}" }`. Values must not be null, since events without the field would have that, too.',
        default: "{}",
        type: { kind: "match", templates: true },
      },
      if: {
        summary: "Only an event for which this is true; a CEL expression over `async`, the event.",
        default: "none",
        type: { kind: "waitExpression" },
      },
    },
    ...plain,
  },
  approval: {
    summary:
      "Waits for a decision: a signal with the data `{ approved: true }` or `{ approved: false }`. Other data is refused.",
    output: "The data of the signal; null after the timeout.",
    handles: ["approved", "rejected", "timeout", ERROR_HANDLE],
    config: {
      signal: {
        summary: "Name of the signal; it must be unique to the run.",
        default:
          "`graph:<run id>:<key>`. The key of a node `ask` is `ask`; in a loop `ask[0]`; in a subgraph `s`, `s/ask`; in a subgraph within a loop, `s[0]/ask`",
        type: text(256),
      },
      timeout: TIMEOUT,
    },
    ...plain,
  },
  loop: {
    summary: "Runs the nodes that follow its `loop` handle once for each item. Edges back to the loop are optional.",
    output: "A list of the results of the iterations.",
    handles: ["loop", "done", ERROR_HANDLE],
    config: {
      items: { summary: "A template that evaluates to a list.", required: true, type: value },
      concurrency: {
        summary: "How many iterations run at once; the next one begins when one has ended.",
        default: "1",
        type: { kind: "integer", min: 1, max: GRAPH_LIMITS.maxLoopConcurrency },
      },
      item: { summary: "Name of the item in `ctx`, within the body.", default: "item", type: { kind: "name" } },
      index: { summary: "Name of its index in `ctx`, from 0.", default: "index", type: { kind: "name" } },
      collect: {
        summary: "The result of an iteration; `ctx` has all nodes of the body.",
        default: "the output of the node with an edge back, or null if there is none",
        type: value,
      },
    },
    ...plain,
  },
  javascript: {
    summary: "Your users' code, in a sandbox that has access to `ctx` and nothing else.",
    output: "What the code returns, as JSON.",
    handles: OUT_AND_ERROR,
    config: {
      code: {
        summary:
          "The body of an async function: `return` and `await` work. `ctx` is frozen; output of `console` goes to the log.",
        required: true,
        type: { kind: "code" },
      },
      timeout: {
        summary: "How long the code may take, at most 5 min.",
        default: "30s",
        type: { kind: "duration", templates: true, maxMs: 300_000 },
      },
      memoryMb: {
        summary:
          "How much memory the code may use, in megabytes. Code is ended at the latest with half as much again and 16 MB.",
        default: "64",
        type: { kind: "integer", min: 1, max: 512 },
      },
    },
    retries: true,
    undoable: true,
    undoes: true,
  },
  subgraph: {
    summary: "Runs the given version of another stored graph in place of this node.",
    output: "The output of that graph's `end` nodes.",
    handles: OUT_AND_ERROR,
    config: {
      graph: {
        summary: "Id of the graph, of the same tenant.",
        required: true,
        type: { kind: "text", templates: false, maxChars: GRAPH_LIMITS.maxIdChars },
      },
      version: {
        summary: "The version of that graph.",
        required: true,
        type: { kind: "integer", min: 1, max: 2_147_483_647 },
      },
      input: { summary: "The input of that graph.", default: "null", type: value },
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
