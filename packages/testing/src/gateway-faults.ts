/** Faults of a gateway, asked for over its HTTP API, as people do. */
import { ERROR_CATALOGUE, type ErrorCode, HoldfastError } from "@holdfast/core";
import type { Fault, FaultRequest, FaultThatHappened } from "@holdfast/gateway";

/** What goes wrong on request; docs/faults-on-request.md has an example of each. */
export interface GatewayFaults {
  /**
   * From now on, or at once. The answer has its id, and the seed from which chance follows.
   * @throws HoldfastError `FAULT_INVALID`
   */
  add(fault: FaultRequest): Promise<Fault>;
  /** Also those that are over. */
  list(): Promise<readonly Fault[]>;
  /** @throws HoldfastError `NOT_FOUND` */
  remove(id: string): Promise<void>;
  /** Removes all; says how many there were. */
  clear(): Promise<number>;
  /** What they have done, the newest first. */
  history(limit?: number): Promise<readonly FaultThatHappened[]>;
}

export function gatewayFaults(gatewayUrl: string): GatewayFaults {
  const call = (method: string, path: string, body?: unknown) => callGateway(gatewayUrl, method, path, body);
  return {
    add: async (fault) => (await call("POST", "/v1/faults", fault)) as Fault,
    list: async () => ((await call("GET", "/v1/faults")) as { faults: readonly Fault[] }).faults,
    remove: async (id) => void (await call("DELETE", `/v1/faults/${encodeURIComponent(id)}`)),
    clear: async () => ((await call("DELETE", "/v1/faults")) as { cleared: number }).cleared,
    history: async (limit = 100) =>
      ((await call("GET", `/v1/faults/history?limit=${limit}`)) as { history: readonly FaultThatHappened[] }).history,
  };
}

/** @throws HoldfastError with the gateway's code */
export async function callGateway(gatewayUrl: string, method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(new URL(path, gatewayUrl), {
    method,
    ...(body === undefined ? {} : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as { readonly error?: string; readonly code?: string };
  if (response.ok) return answer;
  const code = Object.hasOwn(ERROR_CATALOGUE, answer.code ?? "") ? (answer.code as ErrorCode) : "INTERNAL";
  throw new HoldfastError(code, answer.error ?? `${method} ${path} answered ${response.status}.`);
}
