/** A graph as data: what is stored, versioned, drawn and run. Plain JSON. */

/** JSON Schema, draft 2020-12. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/** Any JSON value; texts in it may be templates, such as `{{ctx.input.id}}`. */
export type TemplateValue =
  | string
  | number
  | boolean
  | null
  | readonly TemplateValue[]
  | { readonly [key: string]: TemplateValue };

/** When a node with several incoming edges runs: once all of them are settled and one is taken, or when the first is taken. */
export type JoinMode = "all" | "any";

/** What a node's final failure does: its `error` handle is taken, with the error as output; or the run fails. */
export type OnError = "continue" | "fail";

/** What undoes a node when the run has failed: a node of this type runs with `ctx.output`, what the node gave, and `ctx.error`. */
export interface Compensation {
  readonly type: string;
  readonly config?: NodeConfig;
}

export interface NodeConfig {
  readonly [key: string]: unknown;
}

export interface GraphNode {
  /** Unique in the graph; the id of its step. Letters, digits, `_`, `-`, `.`; at most 64 characters. */
  readonly id: string;
  /** A built-in type, or one that the app registered with `nodeType`. */
  readonly type: string;
  /** How it is called for people. */
  readonly title?: string;
  /** What the type's reference says. Default `{}`. */
  readonly config?: NodeConfig;
  /** Name of its output in `ctx`; default: its id. */
  readonly outputVariable?: string;
  /** Default "all". */
  readonly joinMode?: JoinMode;
  /** Default: "continue" when an edge begins at its `error` handle, otherwise "fail". */
  readonly onError?: OnError;
  /** How often it is tried again after a failed attempt, 0 to 20; default: as the runner function says (3 attempts). */
  readonly retries?: number;
  readonly compensate?: Compensation;
  /** Where an editor shows it; not looked at. */
  readonly position?: { readonly x: number; readonly y: number };
}

export interface GraphEdge {
  /** Id of the node where it begins. */
  readonly from: string;
  /** Which way out of that node; default "out". */
  readonly handle?: string;
  /** Id of the node where it ends. */
  readonly to: string;
}

/** Events that start a run of the published version. */
export interface GraphEventTrigger {
  readonly event: string;
  /** CEL over `event`. */
  readonly if?: string;
}

/** Times at which a run of the published version starts. */
export interface GraphCronTrigger {
  /** Five fields, or six with seconds. */
  readonly cron: string;
  /** IANA name; default UTC. */
  readonly timezone?: string;
}

export interface GraphTrigger {
  readonly events?: readonly GraphEventTrigger[];
  readonly cron?: readonly GraphCronTrigger[];
}

export interface Graph {
  /** Unique for a tenant: letters, digits, `_`, `-`, `.`; at most 64 characters. */
  readonly id: string;
  readonly title: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** What the input of a run must fulfil. */
  readonly input?: JsonSchema;
  readonly trigger?: GraphTrigger;
}

export const DEFAULT_HANDLE = "out";
export const ERROR_HANDLE = "error";
