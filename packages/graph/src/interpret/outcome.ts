/** How a node ended, and which way on that means. Pure, so that the state of a run follows from its record alone. */
import { DEFAULT_HANDLE, type GraphNode } from "../definition/graph.ts";
import { isBuiltIn } from "../definition/node-types.ts";
import { isObject, own } from "../json/json-size.ts";

/** The output of a node whose error is taken. */
export interface NodeError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly nodeId: string;
}

export type Outcome =
  | { readonly ok: true; readonly output: unknown; readonly handle: string }
  | { readonly ok: false; readonly error: NodeError };

/** Under this key a type of the app says which handle is taken; its output is beside it. */
export const HANDLE_KEY = "$handle";

/** What a node's step gave, as the way it ended. */
export function outcomeOf(node: GraphNode, given: unknown): Outcome {
  const value = given === undefined ? null : given;
  const done = (handle: string, output = value): Outcome => ({ ok: true, output, handle });
  if (!isBuiltIn(node.type)) {
    const handle = own(value, HANDLE_KEY);
    return typeof handle === "string" ? done(handle, own(value, "output") ?? null) : done(DEFAULT_HANDLE);
  }
  switch (node.type) {
    case "condition":
      return done(String(own(value, "branch") ?? "else"));
    case "waitForEvent":
      return done(value === null ? "timeout" : DEFAULT_HANDLE);
    case "approval":
      if (value === null) return done("timeout");
      return approvalOutcome(node, value);
    case "http":
      return httpOutcome(node, value);
    case "loop":
      return done("done");
    default:
      return done(DEFAULT_HANDLE);
  }
}

/** Only a clear answer decides. */
function approvalOutcome(node: GraphNode, value: unknown): Outcome {
  const approved = own(value, "approved");
  if (typeof approved === "boolean") return { ok: true, output: value, handle: approved ? "approved" : "rejected" };
  const message = `The answer to the approval "${node.id}" has no \`approved\` that is true or false, so it decides nothing. Send \`{ "approved": true }\` or \`{ "approved": false }\`.`;
  return { ok: false, error: { name: "HoldfastError", code: "GRAPH_ANSWER_INVALID", message, nodeId: node.id } };
}

function httpOutcome(node: GraphNode, value: unknown): Outcome {
  const status = own(value, "status");
  const any = own(node.config, "allowStatus") === "any";
  if (any || (typeof status === "number" && status >= 200 && status < 300)) {
    return { ok: true, output: value, handle: DEFAULT_HANDLE };
  }
  const message = `The request of node "${node.id}" was answered with status ${String(status)}.`;
  return { ok: false, error: { name: "HoldfastError", code: "GRAPH_HTTP_STATUS", message, nodeId: node.id } };
}

/** Anything that was thrown, as the output of a node. */
export function nodeErrorOf(nodeId: string, thrown: unknown): NodeError {
  const [name, message, code] = ["name", "message", "code"].map((key) =>
    isObject(thrown) ? Reflect.get(thrown, key) : undefined,
  );
  return {
    name: typeof name === "string" ? name : "Error",
    message: typeof message === "string" ? message : String(thrown),
    ...(typeof code === "string" ? { code } : {}),
    nodeId,
  };
}
