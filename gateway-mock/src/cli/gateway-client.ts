/**
 * Calls a running gateway over HTTP. A signing key may be given as it is or as its hash: the hash of what was given is
 * tried first, so that the key itself is sent only where that is refused.
 */
import {
  ERROR_CATALOGUE,
  type ErrorCode,
  HoldfastError,
  messageOf,
  sleep,
  systemClock,
  systemTimers,
} from "@holdfast/core";
import { isRecord, parseJsonBytes } from "@holdfast/protocol";
import type { GatewayKey } from "../config/keys-config.ts";
import { ENVIRONMENT_HEADER } from "../http/guard.ts";
import { hashSigningKey } from "../http/keys.ts";
import { lackOf } from "./answers.ts";
import { DEV_URL, gatewayAddress } from "./gateway-url.ts";

const CALL_TIMEOUT_MS = 30_000;
/** Before a gateway that is starting is asked again. */
const STARTING_PAUSE_MS = 250;
const STARTING: ErrorCode = "GATEWAY_STARTING";
/** Any will do where none is required. */
const NO_EVENT_KEY = "cli";

export interface ClientSettings {
  readonly url: string;
  readonly signingKey?: string | undefined;
  readonly eventKey?: string | undefined;
  readonly keys?: readonly GatewayKey[] | undefined;
  readonly env?: string | undefined;
  /** How long a call may take. Default 30 s. */
  readonly timeoutMs?: number;
}

export interface GatewayClient {
  readonly url: string;
  /** @throws HoldfastError with the gateway's code, or `GATEWAY_UNREACHABLE` */
  get<T extends object>(path: string): Promise<T>;
  post<T extends object>(path: string, body?: unknown): Promise<T>;
  put<T extends object>(path: string, body?: unknown): Promise<T>;
  delete<T extends object>(path: string): Promise<T>;
  sendEvents(events: readonly object[]): Promise<SentEvents>;
  /** What a worker's calls have to carry. */
  headers(): Promise<Readonly<Record<string, string>>>;
}

export interface SentEvents {
  readonly ids: readonly string[];
  /** Of those that runs waited for, or may be cancelled by. */
  readonly awaited: readonly string[];
}

/** What a gateway says, or does not say, while it goes and comes: the same call may succeed in a moment. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
  "GATEWAY_UNREACHABLE",
  "GATEWAY_STARTING",
  "GATEWAY_CLOSING",
  "STORE_FAILED",
]);

export const isPassing = (error: unknown): boolean => HoldfastError.is(error) && PASSING.has(error.code);

/** @throws HoldfastError `GATEWAY_USAGE` */
export function gatewayClient(settings: ClientSettings): GatewayClient {
  const url = baseUrl(settings.url);
  const { env, timeoutMs = CALL_TIMEOUT_MS } = settings;
  const signingKey = settings.signingKey ?? keyFor("signing", settings);
  const eventKey = settings.eventKey ?? keyFor("event", settings) ?? NO_EVENT_KEY;
  const bearers = bearersOf(signingKey);
  let bearer = bearers[0];

  const ownHeaders = (): Readonly<Record<string, string>> => ({
    ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }),
    ...(env === undefined ? {} : { [ENVIRONMENT_HEADER]: env }),
  });

  const once = async (method: string, path: string, body: unknown): Promise<Answer> => {
    const headers = { ...ownHeaders(), ...(body === undefined ? {} : { "Content-Type": "application/json" }) };
    return fetchAnswer({ url, path }, timeoutMs, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  };
  const withBearer = async (method: string, path: string, body: unknown): Promise<Answer> => {
    const answer = await once(method, path, body);
    const other = bearers.find((one) => one !== bearer);
    if (answer.status !== 401 || other === undefined) return answer;
    bearer = other;
    return once(method, path, body);
  };
  const call = async <T extends object>(method: string, path: string, body?: unknown, waits = true): Promise<T> => {
    const endMs = systemClock.monotonicMs() + (waits ? timeoutMs : 0);
    let answer = await withBearer(method, path, body);
    // It listens before it can answer, and has done nothing of what it was asked: a command right after a start waits.
    while (answer.body.code === STARTING && systemClock.monotonicMs() < endMs) {
      await sleep(systemTimers, STARTING_PAUSE_MS);
      answer = await withBearer(method, path, body);
    }
    if (answer.ok) {
      const lack = lackOf(method, path, body, answer.body);
      if (lack !== null) throw noGateway({ url, path }, `gave ${answer.status} and ${lack}`);
      // What a gateway of this version answers; it is printed, and little else depends on it.
      return answer.body as T;
    }
    const isEvent = path.startsWith("/e/");
    const hasKey = isEvent ? eventKey !== NO_EVENT_KEY : bearers.length > 0;
    throw refusal(answer, { url, hasKey, kind: isEvent ? "event" : "signing", hasFile: settings.keys !== undefined });
  };
  return {
    url,
    get: (path) => call("GET", path),
    post: (path, body) => call("POST", path, body),
    put: (path, body) => call("PUT", path, body),
    delete: (path) => call("DELETE", path),
    async sendEvents(events) {
      const sent = await call<{ readonly ids: readonly unknown[]; readonly awaited?: unknown }>(
        "POST",
        `/e/${encodeURIComponent(eventKey)}`,
        events,
      );
      return { ids: sent.ids.map(String), awaited: Array.isArray(sent.awaited) ? sent.awaited.map(String) : [] };
    },
    async headers() {
      // Which form of the key is accepted is known after a call.
      await call("GET", "/dev", undefined, false);
      return ownHeaders();
    },
  };
}

function baseUrl(text: string): string {
  const address = gatewayAddress(text);
  if (typeof address !== "string") return address.url;
  throw new HoldfastError("GATEWAY_USAGE", `--url must look like ${DEV_URL}, ${address}.`);
}

function keyFor(kind: GatewayKey["kind"], { keys = [], env }: ClientSettings): string | undefined {
  const ofKind = keys.filter((one) => one.kind === kind);
  const fits = ofKind.find(({ environment }) => environment === env) ?? ofKind.find(({ environment }) => !environment);
  return (fits ?? (env === undefined ? ofKind[0] : undefined))?.key;
}

function bearersOf(key: string | undefined): readonly string[] {
  return key === undefined ? [] : [hashSigningKey(key.trim()), key.trim()];
}

interface Answer {
  readonly status: number;
  readonly ok: boolean;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Of a gateway, and below it. */
interface Called {
  readonly url: string;
  readonly path: string;
}

async function fetchAnswer(called: Called, timeoutMs: number, init: RequestInit): Promise<Answer> {
  let response: Response;
  let bytes: Uint8Array;
  try {
    response = await fetch(`${called.url}${called.path}`, {
      ...init,
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    bytes = new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    const isLate = error instanceof Error && error.name === "TimeoutError";
    const why = isLate ? await silenceOf(called, timeoutMs) : `${NO_ANSWER(called)}: ${reasonOf(error)}. ${START}`;
    throw new HoldfastError("GATEWAY_UNREACHABLE", why, { cause: error });
  }
  return { status: response.status, ok: response.ok, body: bodyOf(bytes, response, called) };
}

const NO_ANSWER = ({ url }: Called): string => `No gateway answers at ${url}`;
const START = 'Is it running? "holdfast-gateway dev" starts one; --url says where it is.';
/** A gateway answers `/health` without its database. */
const HEALTH_TIMEOUT_MS = 3_000;

/** What is known of a gateway that has not answered in time: nothing, or that it lives, and how its database is. */
async function silenceOf(called: Called, timeoutMs: number): Promise<string> {
  const { url, path } = called;
  const late = `within ${timeoutMs / 1000} s`;
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS) });
    const { ok, database }: { readonly ok?: unknown; readonly database?: unknown } = Object(await response.json());
    if (ok !== true || !isRecord(database)) throw new Error("It is no gateway.");
    const state =
      database.ok === true
        ? "It took the call and says that its database is there, so the database may not answer, or slowly"
        : `It took the call and waits for its database: ${String(database.error)}`;
    return `The gateway at ${url} runs, but gave no answer to ${shownPath(path)} ${late}. ${state}. What was asked may still be done.`;
  } catch {
    return `${NO_ANSWER(called)}: no answer ${late}, and none to /health. Something may have taken the call and hang. ${START}`;
  }
}

/** Without the event key and the query. */
const shownPath = (path: string): string => path.replace(/^\/e\/.*/, "/e/…").replace(/\?.*/, "");

function bodyOf(bytes: Uint8Array, { status }: Response, { url, path }: Called): Readonly<Record<string, unknown>> {
  try {
    const body = parseJsonBytes(bytes, "The answer");
    if (isRecord(body)) return body;
  } catch {
    // Below.
  }
  if (PROXY_STATUS.has(status)) throw proxyAnswer(url, status);
  throw noGateway({ url, path }, `gave ${status} and no JSON object`);
}

/** With these a proxy says that it has no answer from what it stands in front of. */
const PROXY_STATUS: ReadonlySet<number> = new Set([502, 503, 504]);

const proxyAnswer = (url: string, status: number): HoldfastError =>
  new HoldfastError(
    "GATEWAY_UNREACHABLE",
    `The proxy in front of the gateway at ${url} answered ${status}: it had no answer from the gateway. Is that running, and where the proxy looks for it?`,
  );

const noGateway = ({ url, path }: Called, what: string): HoldfastError =>
  new HoldfastError(
    "GATEWAY_UNREACHABLE",
    `What answers at ${url} is not a Holdfast gateway: ${shownPath(path)} ${what}.`,
  );

/** `fetch` puts the reason into the cause, and of several addresses into its errors. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof AggregateError) return messageOf(cause.errors[0]);
  return messageOf(cause ?? error);
}

interface KeyUsed {
  readonly url: string;
  readonly kind: GatewayKey["kind"];
  readonly hasKey: boolean;
  /** Keys are taken from a file. */
  readonly hasFile: boolean;
}

function refusal({ status, body }: Answer, { url, kind, hasKey, hasFile }: KeyUsed): HoldfastError {
  if (PROXY_STATUS.has(status) && typeof body.code !== "string") return proxyAnswer(url, status);
  const message = typeof body.error === "string" ? body.error : `${url} answered ${status}.`;
  if (status !== 401) return new HoldfastError(codeOf(body.code), message);
  if (hasKey) return new HoldfastError("UNAUTHORIZED", `${message} Give the key that the gateway was started with.`);
  const hint = hasFile
    ? `The key file has none for this environment: add one of the kind "${kind}".`
    : `Set HOLDFAST_${kind.toUpperCase()}_KEY, or name a key file with --keys.`;
  return new HoldfastError("UNAUTHORIZED", `The gateway requires the ${kind} key, and none was given. ${hint}`);
}

function codeOf(code: unknown): ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERROR_CATALOGUE, code) ? (code as ErrorCode) : "INTERNAL";
}
