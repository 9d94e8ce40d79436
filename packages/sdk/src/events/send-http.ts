/**
 * The SDK's HTTP calls to a gateway's API: what is retried, with which key. Events, signals and runs are sent and
 * read through it.
 */
import {
  type BackoffPolicy,
  backoffDelayMs,
  type Clock,
  type ErrorCode,
  HoldfastError,
  messageOf,
  type Random,
  sleep,
  systemClock,
  systemRandom,
  systemTimers,
  type Timers,
  whenAborted,
} from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import type { Secret } from "../options.ts";
import { SDK_NAME } from "../version.ts";
import type { GatewayAccess } from "./gateway-access.ts";
import { jsonProblem } from "./json-depth.ts";

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
  /** How often it is tried. Default 5, and more often as long as the time of `patienceMs` lasts. */
  readonly tries?: number;
  /** Tries go on for this long, however many they are: a gateway that restarts is away for longer than five take. Default 0. */
  readonly patienceMs?: number;
  /** For one try, to the last byte of the answer. Default 10 s. */
  readonly tryTimeoutMs?: number;
  /** The answer is no longer needed. */
  readonly signal?: AbortSignal;
}

/** What an answer means. */
export type Judgement<T> = { readonly ok: true; readonly value: T } | Refused;

interface Refused {
  readonly ok: false;
  readonly retry: boolean;
  readonly reason: string;
  readonly cause?: unknown;
  /** Of the answer, where there was one. */
  readonly status?: number;
  /** What the gateway calls it, where it has refused. */
  readonly code?: ErrorCode;
}

/** `tries` is empty, or says how often it was tried. */
export type PostOutcome<T> =
  | { readonly ok: true; readonly value: T; readonly status?: never; readonly code?: never }
  | FailedCall;

export type FailedCall = Omit<Refused, "retry"> & { readonly tries: string };

/** What takes a call and is silent: a process that is not there refuses it at once. */
const SILENT = "it may wait for its database";
const MAX_TRIES = 5;
const TRY_TIMEOUT_MS = 10_000;
/** Of calls, and of streams that broke off. */
export const RETRY: BackoffPolicy = { baseMs: 100, factor: 2, maxMs: 5_000, jitter: 0.5 };
/** Between the tries of a call. */
const RETRY_CALL: BackoffPolicy = { ...RETRY, maxMs: 2_000 };
const PATIENCE_MS = 10_000;

/**
 * How long events, signals and new runs outlast a gateway that is away. In dev mode they do not: there it has not been
 * started yet.
 */
export const patienceOf = ({ mode }: Pick<GatewayAccess, "mode">): number => (mode === "dev" ? 0 : PATIENCE_MS);

/** Calls the gateway. Network errors, and answers of which `judge` says so, are tried again. */
export async function callGateway<T>(
  request: SendRequest,
  ports: SendPorts,
  judge: (status: number, text: string) => Judgement<T>,
): Promise<PostOutcome<T>> {
  const { tries = MAX_TRIES, patienceMs = 0, signal } = request;
  const untilMs = ports.clock.monotonicMs() + patienceMs;
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await tryOnce(request, ports, judge);
    if (outcome.ok) return outcome;
    const { retry, ...failed } = outcome;
    const pauseMs = backoffDelayMs(RETRY_CALL, attempt, ports.random);
    const isLast = attempt >= tries && ports.clock.monotonicMs() + pauseMs > untilMs;
    if (!retry || isLast || signal?.aborted) {
      return { ...failed, tries: attempt === 1 ? "" : ` (after ${attempt} tries)` };
    }
    await sleep(ports.timers, pauseMs, signal);
  }
}

/** The same with the app's signing key; when that one is refused, with the fallback key. */
export async function callSigned<T>(
  options: Pick<GatewayAccess, "signingKey" | "signingKeyFallback" | "env">,
  request: SendRequest,
  ports: SendPorts,
  judge: (status: number, text: string) => Judgement<T>,
): Promise<PostOutcome<T>> {
  const judged = (status: number, text: string): Judgement<T> =>
    isKeyRefused(status) ? refused(status, text) : judge(status, text);
  const answer = await withKeys(options, (signed) =>
    callGateway({ ...request, headers: { ...request.headers, ...signed } }, ports, judged),
  );
  return isWrongKey(answer) ? { ok: false, reason: `${KEYS_REFUSED}.`, tries: "" } : answer;
}

interface Answered {
  readonly status?: number;
  readonly code?: ErrorCode;
}

/** What `call` comes to with the headers of a key: the fallback key's where the signing key is refused. */
export async function withKeys<T extends Answered>(
  { signingKey, signingKeyFallback, env }: Pick<GatewayAccess, "signingKey" | "signingKeyFallback" | "env">,
  call: (headers: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  const headers = { ...SDK_HEADERS, ...(env === undefined ? {} : { "X-Inngest-Env": env }) };
  const callWith = (key: Secret | undefined): Promise<T> =>
    call(key ? { ...headers, Authorization: `Bearer ${key.reveal()}` } : headers);
  const answer = await callWith(signingKey ?? signingKeyFallback);
  return isKeyRefused(answer.status) && signingKey && signingKeyFallback ? callWith(signingKeyFallback) : answer;
}

/** What every call says of its caller. */
export const SDK_HEADERS = { "User-Agent": SDK_NAME, "x-inngest-sdk": SDK_NAME } as const;

export const KEYS_REFUSED = "it rejected the signing key";
const isKeyRefused = (status: number | undefined): boolean => status === 401 || status === 403;

/** A key that is none; one that is not for this environment, or for this call, the gateway says itself. */
export const isWrongKey = ({ status, code }: Answered): boolean =>
  status === 401 || (status === 403 && code === undefined);

async function tryOnce<T>(
  { url, headers, body, method, tryTimeoutMs = TRY_TIMEOUT_MS, signal }: SendRequest,
  ports: SendPorts,
  judge: (status: number, text: string) => Judgement<T>,
): Promise<Judgement<T>> {
  const end = new AbortController();
  const timer = ports.timers.set(tryTimeoutMs, () =>
    end.abort(new Error(`no answer within ${tryTimeoutMs} ms; ${SILENT}`)),
  );
  const unfollow = whenAborted(signal, () => end.abort(new Error("the call was aborted")));
  try {
    const sent = body === undefined ? { method: method ?? "GET" } : { method: method ?? "POST", body };
    const response = await ports.fetch(url, { ...sent, headers, signal: end.signal });
    return judge(response.status, await response.text());
  } catch (cause) {
    return { ok: false, retry: true, reason: networkReason(cause), cause };
  } finally {
    timer.cancel();
    unfollow();
  }
}

function networkReason(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : `${messageOf(error)} (${messageOf(cause)})`;
}

/**
 * @param what for the message
 * @throws HoldfastError `OPTION_INVALID`
 */
export function jsonText(value: unknown, what: string): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new HoldfastError("OPTION_INVALID", `${what} is not JSON: ${jsonProblem(value, cause)}`, { cause });
  }
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

/** Another try may be answered otherwise. */
export const mayPass = (status: number): boolean => status >= 500 || status === 429;

/** The code of a refusal, where the gateway has given one that asking again does not change. */
export function refusalCode(status: number, { code }: Readonly<Record<string, unknown>>): { code?: ErrorCode } {
  const isFinal = status >= 400 && !mayPass(status);
  return isFinal && typeof code === "string" && code !== "" ? { code: code as ErrorCode } : {};
}

/** What a refusal says: the gateway's words, or the body of whatever answers in its place. */
export const saidOf = ({ error }: Readonly<Record<string, unknown>>, text: string): string =>
  typeof error === "string" ? error : text.slice(0, 200) || "no body";

/** An answer that is not what such a call answers. */
export function refused(status: number, text: string, body = jsonRecord(text)): Refused {
  const reason = `${status} ${saidOf(body, text)}`;
  return { ok: false, retry: mayPass(status), reason, status, ...refusalCode(status, body) };
}

/** @param what the gateway did or did not do, for the message */
export function callFailed(
  code: ErrorCode,
  url: string,
  what: string,
  { tries, reason, cause, status }: Omit<FailedCall, "ok">,
): HoldfastError {
  const message = `The gateway at ${new URL(url).origin} ${what}${tries}: ${reason}`;
  return withStatus(new HoldfastError(code, message, { cause }), status);
}

export const withStatus = (error: HoldfastError, status: number | undefined): HoldfastError =>
  status === undefined ? error : Object.assign(error, { status });
