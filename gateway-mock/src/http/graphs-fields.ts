/** Reads what callers say of graphs: names, fields of bodies, pages. */
import { HoldfastError, nearestName, unstorableIn } from "@holdfast/core";
import { GRAPH_LIMITS, type NodeTypeInfo } from "@holdfast/graph/definition";
import { isRecord, parseJsonBytes, WIRE_LIMITS } from "@holdfast/protocol";
import type { GraphName } from "@holdfast/store";
import type { Context } from "hono";
import type { GraphDispatch } from "../dispatch/index.ts";
import { ofBody, readJsonBody } from "./json-body.ts";

/** Of a body with a graph: its characters take up to three bytes each. */
export const MAX_GRAPH_BODY_BYTES = 3 * GRAPH_LIMITS.maxGraphChars + 64 * 1024;
export const MAX_RUN_BODY_BYTES = WIRE_LIMITS.maxEventBytes;
const MAX_TENANT_CHARS = 200;
const MAX_NODE_TYPES = 1_000;

const invalid = (message: string): HoldfastError => new HoldfastError("BODY_INVALID", message);

type Fields = Readonly<Record<string, unknown>>;

/** `parsed` = with values that can be looked at; else what is long in it stays text. */
export async function fieldsOf(c: Context, known: readonly string[], how: "parsed" | "passed on"): Promise<Fields> {
  const bytes = new Uint8Array(await c.req.arrayBuffer());
  if (bytes.byteLength === 0) return {};
  const body = how === "parsed" ? await ofBody(parsed(bytes)) : await readJsonBody(bytes);
  if (!isRecord(body)) throw invalid("The body must be an object.");
  const other = Object.keys(body).find((name) => !known.includes(name));
  if (other === undefined) return body;
  const near = nearestName(other, known);
  const hint = near === undefined ? "Valid are" : `Did you mean \`${near}\`? Valid are`;
  throw invalid(`There is no field \`${other.slice(0, 80)}\`. ${hint} ${known.join(", ")}.`);
}

/** Graphs are stored seldom, and are to be looked at from end to end. */
const parsed = async (bytes: Uint8Array): Promise<unknown> => parseJsonBytes(bytes, "The body");

export const graphNameIn = (c: Context): GraphName => ({
  environment: c.get("environment"),
  tenant: tenantOf(c.req.query("tenant")) ?? "",
  id: c.req.param("id") ?? "",
});

export function tenantOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what no name has.
  const isName = typeof value === "string" && value.length <= MAX_TENANT_CHARS && !/[\u0000-\u001f]/.test(value);
  if (isName && unstorableIn(value) === null) return value;
  throw invalid(`\`tenant\` must be text of at most ${MAX_TENANT_CHARS} characters.`);
}

/** `app` and `runner`, where they are given. */
export function runnerIn({ app, runner }: Fields): { readonly app?: string; readonly runner?: string } {
  const [appId, runnerId] = [nameOf("app", app), nameOf("runner", runner)];
  return { ...(appId === undefined ? {} : { app: appId }), ...(runnerId === undefined ? {} : { runner: runnerId }) };
}

function nameOf(field: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string" && /^[^\s]{1,200}$/.test(value) && !value.includes("\0")) return value;
  throw invalid(`\`${field}\` must be an id.`);
}

export function wholeIn(field: string, value: unknown, least: number): number | undefined {
  if (value === undefined || value === null) return undefined;
  const number = typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isInteger(number) && number >= least && number < 2 ** 31) return number;
  throw invalid(`\`${field}\` must be a whole number from ${least}.`);
}

/** Types of nodes that the app has. */
export function nodeTypesIn({ nodeTypes }: Fields): { readonly nodeTypes?: readonly NodeTypeInfo[] } {
  if (nodeTypes === undefined || nodeTypes === null) return {};
  if (Array.isArray(nodeTypes) && nodeTypes.length <= MAX_NODE_TYPES && nodeTypes.every(isNodeType))
    return { nodeTypes };
  throw invalid(`\`nodeTypes\` must be a list of { type, handles }, at most ${MAX_NODE_TYPES}.`);
}

const isNodeType = (value: unknown): value is NodeTypeInfo =>
  isRecord(value) &&
  typeof value.type === "string" &&
  (value.handles === undefined ||
    (Array.isArray(value.handles) && value.handles.every((one) => typeof one === "string")));

interface GraphPlace {
  readonly tenant: string;
  readonly id: string;
}

/** Where a page of graphs ends, as text. */
export const cursorOf = ({ tenant, id }: GraphPlace): string =>
  Buffer.from(JSON.stringify([tenant, id])).toString("base64url");

export function placeIn(cursor: string | undefined): GraphPlace | undefined {
  if (cursor === undefined) return undefined;
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    const [tenant, id] = Array.isArray(place) ? place : [];
    if (typeof tenant === "string" && typeof id === "string" && unstorableIn(`${tenant}${id}`) === null)
      return { tenant, id };
  } catch {
    // It is no cursor.
  }
  throw invalid("`cursor` must be the `nextCursor` of the page before.");
}

/** How nodes are dispatched, where it is said. */
export function dispatchIn({ dispatch }: Fields): { readonly dispatch?: GraphDispatch } {
  if (dispatch === undefined || dispatch === null) return {};
  if (dispatch === "run" || dispatch === "node") return { dispatch };
  throw invalid("`dispatch` must be `run` or `node`.");
}
