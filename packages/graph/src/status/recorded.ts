/**
 * What is stored of a node's step, and what the node gives: the one place that turns each into the other. `givenOf` reads
 * a record; `recordedOf` makes one of what people say that a node is to give.
 */
import { ERROR_HANDLE, type Graph, type GraphNode } from "../definition/graph.ts";
import { handlesOf, isBuiltIn } from "../definition/node-types.ts";
import { HANDLE_KEY } from "../interpret/outcome.ts";
import { isObject, own } from "../json/json-size.ts";
import { httpOutput } from "../nodes/http.ts";

/** What a step's recorded result stands for: what the node's call gave, as `outcomeOf` takes it. */
export function givenOf({ type }: GraphNode, recorded: unknown): unknown {
  switch (type) {
    case "javascript":
      return own(recorded, "output") ?? null;
    case "approval":
      return recorded === null || recorded === undefined ? null : (own(recorded, "data") ?? {});
    case "http":
      return httpGiven(recorded);
    default:
      return recorded;
  }
}

/** As the gateway records an answer; one that was recorded otherwise is taken as it is. */
function httpGiven(recorded: unknown): unknown {
  const status = own(recorded, "status_code");
  if (typeof status !== "number") return recorded;
  const [headers, body] = [own(recorded, "headers"), own(recorded, "body")];
  const pairs = isObject(headers) ? Object.entries(headers) : [];
  const joined = pairs.map(([name, value]): [string, string] => [name.toLowerCase(), [value].flat().join(", ")]);
  const text = typeof body === "string" ? body : body === undefined || body === null ? "" : JSON.stringify(body);
  return httpOutput(status, Object.fromEntries(joined), text);
}

export type Recorded =
  | { readonly ok: true; readonly text: string }
  /** `wanted`: what the node can give. */
  | { readonly ok: false; readonly wanted: string };

const APPROVAL = "`{ approved: true }` or `{ approved: false }`, with other fields as you like, or null for a timeout";
const HTTP =
  "`{ status, headers, body }`: `status` a whole number from 100 to 599, `headers` texts by their names, `body` as JSON " +
  "or text; without a body where the status has none";
const EVENT = "the event, `{ name, data, ts, id }`, or null for a timeout";

/**
 * What is stored of a step for its node to give this, as JSON text. Only what the type can give is taken: neither a way
 * that there is not, nor what is stored of it in place of what it gives.
 */
export function recordedOf(graph: Graph, node: GraphNode, outputText: string): Recorded {
  const output: unknown = JSON.parse(outputText);
  const taken = (isFine: boolean, wanted: string, text = outputText): Recorded =>
    isFine ? { ok: true, text } : { ok: false, wanted };
  switch (isBuiltIn(node.type) ? node.type : undefined) {
    case "approval":
      if (output === null) return { ok: true, text: "null" };
      return taken(typeof own(output, "approved") === "boolean", APPROVAL, `{"data":${outputText}}`);
    case "condition":
      return branchOf(node, output, outputText);
    case "delay":
    case "until":
      return taken(output === null, "null, as it waits and gives nothing");
    case "waitForEvent":
      return taken(
        output === null || (typeof own(output, "name") === "string" && isObject(own(output, "data"))),
        EVENT,
      );
    case "http":
      return isHttpOutput(output)
        ? { ok: true, text: JSON.stringify(httpRecord(output)) }
        : { ok: false, wanted: HTTP };
    case "javascript":
      if (isCodeRecord(output)) {
        return {
          ok: false,
          wanted: "what the code returns, alone: that is what you gave in `output`, without `lines`",
        };
      }
      return { ok: true, text: `{"output":${outputText},"lines":[]}` };
    case "function":
      return { ok: true, text: outputText };
    case "start":
    case "end":
    case "loop":
    case "subgraph":
      return { ok: false, wanted: "nothing, since it is no step: go on from a node in it, or before it" };
    default:
      return customOf(graph, node, output, outputText);
  }
}

function branchOf(node: GraphNode, output: unknown, text: string): Recorded {
  const branches = (handlesOf(node, "any") ?? []).filter((handle) => handle !== ERROR_HANDLE);
  const branch = own(output, "branch");
  if (typeof branch === "string" && branches.includes(branch) && hasOnly(output, ["branch"])) return { ok: true, text };
  return { ok: false, wanted: `\`{ branch }\` with one of ${quoted(branches)}` };
}

/** Beside its output a type of the app may say which way it takes. */
function customOf({ edges }: Graph, { id }: GraphNode, output: unknown, text: string): Recorded {
  const handle = own(output, HANDLE_KEY);
  if (handle === undefined) return { ok: true, text };
  const ways = [...new Set(["out", ...edges.flatMap((edge) => (edge.from === id ? [edge.handle ?? "out"] : []))])];
  const isFine = typeof handle === "string" && ways.includes(handle) && hasOnly(output, [HANDLE_KEY, "output"]);
  if (isFine) return { ok: true, text };
  return { ok: false, wanted: `its output, or \`{ "$handle", "output" }\` to take one of the ways ${quoted(ways)}` };
}

const quoted = (names: readonly string[]): string => names.map((name) => JSON.stringify(name)).join(", ");

const hasOnly = (value: unknown, keys: readonly string[]): boolean =>
  isObject(value) && Object.keys(value).every((key) => keys.includes(key));

/** As it is stored of code, with what it wrote. */
function isCodeRecord(value: unknown): boolean {
  const lines = own(value, "lines");
  if (!Array.isArray(lines) || !hasOnly(value, ["output", "lines"])) return false;
  return lines.every((line) => typeof own(line, "level") === "string" && typeof own(line, "text") === "string");
}

interface GivenAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const NO_BODY: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);
/** What `Headers` takes: anything else would fail the node, and not the request. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function isHttpOutput(value: unknown): value is GivenAnswer {
  if (!hasOnly(value, ["status", "headers", "body"])) return false;
  const [status, headers = {}, body = ""] = [own(value, "status"), own(value, "headers"), own(value, "body")];
  if (typeof status !== "number" || !Number.isInteger(status) || status < 100 || status > 599) return false;
  if (NO_BODY.has(status) && body !== "") return false;
  if (!isObject(headers) || Array.isArray(headers)) return false;
  return Object.entries(headers).every(
    ([name, text]) => HEADER_NAME.test(name) && typeof text === "string" && HEADER_VALUE.test(text),
  );
}

/** A text that would be read as JSON is stored as the JSON of a text. */
function httpRecord({ status, headers = {}, body = "" }: GivenAnswer): object {
  const isText = typeof body === "string" && httpOutput(status, {}, body).body === body;
  return { status_code: status, headers, body: isText ? body : JSON.stringify(body) };
}
