/** A call of any path of a gateway's API, for packages that build on this one. */
import { apiBase, type GatewayAccess } from "./gateway-access.ts";
import { callFailed, callSigned, type Judgement, jsonText, mayPass, type SendPorts } from "./send-http.ts";

export interface GatewayRequest {
  /** Default: POST with a body, GET without. */
  readonly method?: "DELETE" | "PUT";
  /** Sent as JSON. */
  readonly body?: unknown;
  /** The answer is no longer needed. */
  readonly signal?: AbortSignal;
}

export interface GatewayAnswer {
  readonly status: number;
  /** As JSON; undefined when it is none. */
  readonly body: unknown;
}

/** @throws HoldfastError `GATEWAY_CALL_FAILED`, `OPTION_INVALID`; `ENVIRONMENT_REFUSED` for a key of another environment */
export async function callApi(
  access: GatewayAccess,
  path: string,
  { method, body, signal }: GatewayRequest,
  ports: SendPorts,
): Promise<GatewayAnswer> {
  const url = new URL(path, apiBase(access)).href;
  const request = {
    url,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: jsonText(body, `The body of ${path}`) }),
    ...(method === undefined ? {} : { method }),
    ...(signal === undefined ? {} : { signal }),
  };
  const answer = await callSigned(access, request, ports, judged);
  if (answer.ok) return answer.value;
  throw callFailed(
    answer.code ?? "GATEWAY_CALL_FAILED",
    url,
    `did not answer ${new URL(url).pathname} as expected`,
    answer,
  );
}

function judged(status: number, text: string): Judgement<GatewayAnswer> {
  if (mayPass(status)) return { ok: false, retry: true, reason: `${status} ${text.slice(0, 200)}` };
  return { ok: true, value: { status, body: jsonOf(text) } };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
