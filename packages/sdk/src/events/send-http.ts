/**
 * The SDK's HTTP calls to a gateway's API: what is retried, with which key. Events, signals and runs are sent and
 * read through it.
 */
import {
  type BackoffPolicy,
  backoffDelayMs,
  type Clock,
  type ErrorCode,
  messageOf,
  type Random,
  sleep,
  systemClock,
  systemRandom,
  systemTimers,
  type Timers,
} from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { SDK_NAME } from "../version.ts";
import type { GatewayAccess } from "./gateway-access.ts";

/** The part of `fetch` that is used. */
export type FetchLike = (input: string, init: RequestInit) => Promise<Response>;

export interface SendPorts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly fetch: FetchLike;
}

/** Those of this process; `fetch` is the option of that name. */
export function sendPorts(fetch: FetchLike = (url, init) => globalThis.fetch(url, init)): SendPorts {
  return { clock: systemClock, timers: systemTimers, random: systemRandom, fetch };
}

export interface SendRequest {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  /** Default: POST with a body, GET without. */
  readonly method?: "DELETE" | "PUT";
  /** How often it is tried. Default 5. */
  readonly tries?: number;
  /** For one try, to the last byte of the answer. Default 10 s. */
  readonly tryTimeoutMs?: number;
  /** The answer is no longer needed. */
  readonly signal?: AbortSignal;
}

/** What an answer means. */
export type Judgement<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly retry: boolean;
      readonly reason: string;
      readonly cause?: unknown;
      /** What the gateway calls it, where it has refused. */
      readonly code?: ErrorCode;
    };

/** `tries` is empty, or says how often it was tried. */
export type PostOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly reason: string;
      readonly tries: string;
      readonly cause?: unknown;
      readonly code?: ErrorCode;
    };

/** What takes a call and is silent: a process that is not there refuses it at once. */
const SILENT = "it may run and wait for its database";
const MAX_TRIES = 5;
const TRY_TIMEOUT_MS = 10_000;
const RETRY: BackoffPolicy = { baseMs: 100, factor: 2, maxMs: 5_000, jitter: 0.5 };

/** Calls the gateway. Network errors, and answers of which `judge` says so, are tried again, five tries in all. */
export async function callGateway<T>(
  request: SendRequest,
  ports: SendPorts,
  judge: (status: number, text: string) => Judgement<T>,
): Promise<PostOutcome<T>> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await tryOnce(request, ports, judge);
    if (outcome.ok) return outcome;
    if (!outcome.retry || attempt >= (request.tries ?? MAX_TRIES) || request.signal?.aborted) {
      const { reason, cause, code } = outcome;
      const tries = attempt === 1 ? "" : ` (after ${attempt} tries)`;
      return { ok: false, reason, tries, cause, ...(code === undefined ? {} : { code }) };
    }
    await sleep(ports.timers, backoffDelayMs(RETRY, attempt, ports.random), request.signal);
  }
}

/** The same with the app's signing key; when that one is refused, with the fallback key. */
export async function callSigned<T>(
  options: Pick<GatewayAccess, "signingKey" | "signingKeyFallback" | "env">,
  request: SendRequest,
  ports: SendPorts,
  judge: (status: number, text: string) => Judgement<T>,
): Promise<PostOutcome<T>> {
  const keys = [options.signingKey, options.signingKeyFallback].filter((key) => key !== undefined);
  for (let index = 0; ; index += 1) {
    const key = keys[index];
    const headers = {
      ...request.headers,
      "User-Agent": SDK_NAME,
      "x-inngest-sdk": SDK_NAME,
      ...(options.env === undefined ? {} : { "X-Inngest-Env": options.env }),
      ...(key === undefined ? {} : { Authorization: `Bearer ${key.reveal()}` }),
    };
    const judged = (status: number, text: string): Judgement<T | typeof REFUSED> =>
      status === 401 || status === 403 ? { ok: true, value: REFUSED } : judge(status, text);
    const answer = await callGateway({ ...request, headers }, ports, judged);
    if (!answer.ok) return answer;
    if (answer.value !== REFUSED) return { ok: true, value: answer.value };
    if (index + 1 >= keys.length) return { ok: false, reason: "it rejected the signing key.", tries: "" };
  }
}

const REFUSED = Symbol("refused");

async function tryOnce<T>(
  { url, headers, body, method, tryTimeoutMs = TRY_TIMEOUT_MS, signal }: SendRequest,
  ports: SendPorts,
  judge: (status: number, text: string) => Judgement<T>,
): Promise<Judgement<T>> {
  const end = new AbortController();
  const timer = ports.timers.set(tryTimeoutMs, () =>
    end.abort(new Error(`no answer within ${tryTimeoutMs} ms; ${SILENT}`)),
  );
  const unwanted = (): void => end.abort(new Error("the call was aborted"));
  signal?.addEventListener("abort", unwanted, { once: true });
  try {
    if (signal?.aborted) unwanted();
    const sent = body === undefined ? { method: method ?? "GET" } : { method: method ?? "POST", body };
    const response = await ports.fetch(url, { ...sent, headers, signal: end.signal });
    return judge(response.status, await response.text());
  } catch (cause) {
    return { ok: false, retry: true, reason: networkReason(cause), cause };
  } finally {
    timer.cancel();
    signal?.removeEventListener("abort", unwanted);
  }
}

function networkReason(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : `${messageOf(error)} (${messageOf(cause)})`;
}

/** The object that a body holds; empty when it holds none. */
export function jsonRecord(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text);
    return isRecord(body) ? body : {};
  } catch {
    return {};
  }
}

/** The code of a refusal, where the gateway has given one that asking again does not change. */
export function refusalCode(status: number, { code }: Readonly<Record<string, unknown>>): { code?: ErrorCode } {
  const isFinal = status >= 400 && status < 500 && status !== 429;
  return isFinal && typeof code === "string" && code !== "" ? { code: code as ErrorCode } : {};
}
