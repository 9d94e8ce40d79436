/** The calls of `holdfast/operate`: which app's gateway, with which keys, and what a refusal becomes. */
import { type ErrorCode, HoldfastError, systemClock, systemRandom, systemTimers } from "@holdfast/core";
import { apiBase, type GatewayAccess } from "../events/gateway-access.ts";
import {
  callFailed,
  callSigned,
  type FetchLike,
  type Judgement,
  jsonRecord,
  KEYS_REFUSED,
  mayPass,
  refused,
  type SendRequest,
  saidOf,
} from "../events/send-http.ts";

/** The client whose gateway is operated: `new Holdfast(...)` or `new HoldfastClient(...)`. */
export interface OperatedClient {
  readonly options: GatewayAccess & { readonly id: string };
  /** The option `fetch`. */
  readonly fetch?: FetchLike | undefined;
}

export interface GatewayCall extends Pick<SendRequest, "method" | "signal" | "tries"> {
  readonly path: string;
  readonly body?: object;
}

/** One path segment of what people gave. */
export const segment = (text: string): string => encodeURIComponent(text);

/**
 * What the gateway answers; null where it says that there is no such thing and `isOptional`.
 * @throws HoldfastError the gateway's own code (`NOT_FOUND`, `OPTION_INVALID`, `UNAUTHORIZED` …), or
 *   `GATEWAY_UNREACHABLE`
 */
export async function callGatewayApi<T extends object>(
  client: OperatedClient,
  { path, body, ...request }: GatewayCall,
  isOptional = false,
): Promise<T | null> {
  const url = new URL(path, apiBase(client.options)).href;
  const headers: Record<string, string> = body === undefined ? {} : { "Content-Type": "application/json" };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const fetch = client.fetch ?? ((to: string, init: RequestInit) => globalThis.fetch(to, init));
  const ports = { clock: systemClock, timers: systemTimers, random: systemRandom, fetch };
  const answer = await callSigned(client.options, { ...request, ...sent, url, headers }, ports, judge);
  if (!answer.ok) {
    const code = answer.code ?? (answer.reason.includes(KEYS_REFUSED) ? "UNAUTHORIZED" : "GATEWAY_UNREACHABLE");
    throw callFailed(code, url, `did not answer ${new URL(url).pathname}`, answer);
  }
  const { value } = answer;
  if (!(value instanceof Refusal)) return value as T;
  if (isOptional && value.code === "NOT_FOUND") return null;
  throw new HoldfastError(value.code as ErrorCode, value.message);
}

/** As `callGatewayApi`, of what is there. */
export async function callFor<T extends object>(client: OperatedClient, call: GatewayCall): Promise<T> {
  const answer = await callGatewayApi<T>(client, call);
  // Only optional things are null.
  return answer as T;
}

class Refusal {
  readonly code: string;
  readonly message: string;

  constructor(code: string, message: string) {
    this.code = code;
    this.message = message;
  }
}

type Answered = Readonly<Record<string, unknown>> | Refusal;

function judge(status: number, text: string): Judgement<Answered> {
  const body = jsonRecord(text);
  if (status >= 200 && status < 300 && Object.keys(body).length > 0) return { ok: true, value: body };
  const isAnswer = typeof body.code === "string" && !mayPass(status);
  if (isAnswer) return { ok: true, value: new Refusal(String(body.code), saidOf(body, text)) };
  return refused(status, text, body);
}
