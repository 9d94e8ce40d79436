/** What a step's recorded result stands for: what the node's call gave, as `outcomeOf` takes it. */
import type { GraphNode } from "../definition/graph.ts";
import { isObject, own } from "../json/json-size.ts";
import { httpOutput } from "../nodes/http.ts";

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
