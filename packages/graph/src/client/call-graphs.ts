/** Calls of the gateway's routes for graphs, and what their refusals become. */
import { type ErrorCode, HoldfastError } from "@holdfast/core";
import type { HoldfastClient } from "holdfast/client";
import { own } from "../json/json-size.ts";

export interface GraphCall {
  readonly method?: "DELETE" | "PUT";
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string>>;
}

/** The path of a graph's routes. */
export const pathOf = (id: string): string => `v1/graphs/${encodeURIComponent(id)}`;

export type GraphCalls = <T>(path: string, call?: GraphCall) => Promise<T>;

/** Calls for one tenant; reject with the gateway's code, its `status`, `problems` and `revision` beside it. */
export function callGraphs(app: Pick<HoldfastClient, "call">, tenant: string): GraphCalls {
  return async <T>(path: string, { query = {}, ...request }: GraphCall = {}): Promise<T> => {
    const search = new URLSearchParams(tenant === "" ? query : { ...query, tenant }).toString();
    const { status, body } = await app.call(search === "" ? path : `${path}?${search}`, request);
    if (status >= 200 && status < 300) return body as T;
    throw refusal(status, body, path);
  };
}

function refusal(status: number, body: unknown, path: string): HoldfastError {
  const [code, said, problems, revision] = ["code", "error", "problems", "revision"].map((key) => own(body, key));
  // Gateways may be newer, and know codes that this package does not.
  const isCode = typeof code === "string" && code !== "";
  const message = typeof said === "string" ? said : `The gateway answered ${path} with ${status}.`;
  const error = new HoldfastError(isCode ? (code as ErrorCode) : "GRAPH_UNAVAILABLE", message);
  return Object.assign(
    error,
    { status },
    problems === undefined ? {} : { problems },
    revision === undefined ? {} : { revision },
  );
}
