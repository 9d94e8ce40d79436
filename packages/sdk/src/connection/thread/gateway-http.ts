/**
 * The two HTTP calls of a worker to its gateway: the start call and the flush of a reply. They run in the connection
 * thread, so that a blocked main cannot delay them; `node-http.ts` carries them out.
 */
import { type Clock, messageOf, type Timers } from "@holdfast/core";
import {
  decodeFlushResponse,
  decodeStartResponse,
  encodeStartRequest,
  FLUSH_PATH,
  PROTOBUF_CONTENT_TYPE,
  START_PATH,
  type StartResponse,
  WIRE_LIMITS,
} from "@holdfast/protocol";
import type { KeyChoice } from "../machines/link-types.ts";
import type { SerializableConfig } from "../shared/serializable-config.ts";

export type StartResult =
  | { readonly ok: true; readonly start: StartResponse }
  | {
      readonly ok: false;
      readonly message: string;
      readonly unauthorized: boolean;
      /** From the answer's Retry-After. */
      readonly retryAfterMs?: number;
    };

export type FlushResult = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** The two HTTP calls of a worker; neither ever rejects, and each ends within `httpMs`. */
export interface GatewayHttp {
  start(key: KeyChoice, excludeGateways: readonly string[], signal: AbortSignal): Promise<StartResult>;
  /** Hands over one encoded SDKResponse: with the primary key, then with the fallback key if there is one. */
  flush(response: Uint8Array): Promise<FlushResult>;
  /** Ends every call under way. */
  abort(): void;
}

export interface GatewayCall {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Ends the call, also while its answer is read. */
  readonly signal: AbortSignal;
}

export interface GatewayAnswer {
  readonly status: number;
  readonly headers?: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array>;
}

/** Makes one POST. Redirects are answers like any other. */
export type GatewayPost = (url: URL, call: GatewayCall) => Promise<GatewayAnswer>;

interface Answer {
  readonly status: number;
  readonly header: (name: string) => string | null;
  readonly body: Uint8Array;
}

/** How much of an error's body is worth reading, and how much of one that is no gateway's is worth showing. */
const READ_BYTES = 4_096;
const EXCERPT_CHARS = 200;
/** The key belongs to another one. */
const ANOTHER_ENVIRONMENT = "(ENVIRONMENT_REFUSED)";
/** A gateway that asks for more patience than this is asked again all the same. */
const MAX_RETRY_AFTER_MS = 300_000;

export function createGatewayHttp(
  config: SerializableConfig,
  clock: Clock,
  timers: Timers,
  post: GatewayPost,
): GatewayHttp {
  const everything = new AbortController();

  const call = async (path: string, key: KeyChoice, body: Uint8Array, signal?: AbortSignal): Promise<Answer> => {
    const late = new AbortController();
    const timer = timers.set(config.httpMs, () => late.abort(new Error(`No answer within ${config.httpMs} ms.`)));
    try {
      const response = await post(new URL(path, config.apiBaseUrl), {
        // What keeps a TCP connection for later may keep one that is half open by then, as the socket is that led here.
        headers: { ...headersFor(config, key), connection: "close" },
        body,
        signal: AbortSignal.any([late.signal, everything.signal, ...(signal ? [signal] : [])]),
      });
      return {
        status: response.status,
        header: (name) => response.headers?.get(name) ?? null,
        body: await readBounded(response, WIRE_LIMITS.maxStartBodyBytes),
      };
    } finally {
      timer.cancel();
    }
  };

  const flushWith = async (key: KeyChoice, response: Uint8Array): Promise<FlushResult> => {
    try {
      const answer = await call(FLUSH_PATH, key, response);
      if (answer.status !== 200) return { ok: false, message: describe("flush", answer) };
      decodeFlushResponse(answer.body);
      return { ok: true };
    } catch (error) {
      return { ok: false, message: `The flush call failed: ${reasonOf(error)}` };
    }
  };

  return {
    start: async (key, excludeGateways, signal) => {
      try {
        const answer = await call(START_PATH, key, encodeStartRequest({ excludeGateways }), signal);
        if (answer.status !== 200) {
          const retryAfterMs = retryAfterMsOf(answer.header("retry-after"), clock.nowMs());
          const message = startRefusal(answer, config.apiBaseUrl);
          // Any other 403 may be of something in between, and pass.
          const unauthorized =
            answer.status === 401 || (answer.status === 403 && message.includes(ANOTHER_ENVIRONMENT));
          return { ok: false, message, unauthorized, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
        }
        return readStart(answer.body, config);
      } catch (error) {
        const message = `The start call failed: ${reasonOf(error).replace(/\.$/, "")}.${isRefused(error) ? hintFor(config.apiBaseUrl) : ""}`;
        return { ok: false, message, unauthorized: false };
      }
    },
    flush: async (response) => {
      const result = await flushWith("primary", response);
      if (result.ok || config.hashedFallbackKey === undefined) return result;
      return flushWith("fallback", response);
    },
    abort: () => everything.abort(new Error("The connection is being closed.")),
  };
}

function headersFor(config: SerializableConfig, key: KeyChoice): Record<string, string> {
  const hashed = key === "fallback" ? config.hashedFallbackKey : config.hashedSigningKey;
  return {
    "content-type": PROTOBUF_CONTENT_TYPE,
    ...(hashed === undefined ? {} : { authorization: `Bearer ${hashed}` }),
    ...(config.envName === undefined ? {} : { "x-inngest-env": config.envName }),
  };
}

function readStart(body: Uint8Array, { gatewayUrl, apiBaseUrl }: SerializableConfig): StartResult {
  let start: StartResponse;
  try {
    start = decodeStartResponse(body);
  } catch {
    return { ok: false, message: noGateway(apiBaseUrl), unauthorized: false };
  }
  // An empty body is one, too.
  if (start.connectionId === "" && start.gatewayEndpoint === "") {
    return { ok: false, message: noGateway(apiBaseUrl), unauthorized: false };
  }
  const endpoint = gatewayUrl ?? start.gatewayEndpoint;
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (start.connectionId === "" || (url?.protocol !== "ws:" && url?.protocol !== "wss:")) {
    const message = `The start call returned no usable gateway: connection ${JSON.stringify(start.connectionId)}, endpoint ${JSON.stringify(endpoint)}.`;
    return { ok: false, message, unauthorized: false };
  }
  return { ok: true, start: { ...start, gatewayEndpoint: endpoint } };
}

/** Without a password that may be in it. */
function checkAddress(apiBaseUrl: string): string {
  const { origin } = new URL(apiBaseUrl);
  return `What answers at ${origin} is no Holdfast gateway: check \`baseUrl\` (or HOLDFAST_DEV, HOLDFAST_API_BASE_URL, HOLDFAST_BASE_URL).`;
}

/** Other servers answer 200 to whatever is asked, with a page. */
function noGateway(apiBaseUrl: string): string {
  return `The start call returned something that is not a StartResponse. ${checkAddress(apiBaseUrl)}`;
}

async function readBounded(response: GatewayAnswer, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`The response is larger than ${maxBytes} bytes.`);
  }
  return Buffer.concat(chunks);
}

/** Seconds, or the date of the header in milliseconds from now; undefined when it is neither. */
export function retryAfterMsOf(header: string | null, nowMs: number): number | undefined {
  const text = header?.trim() ?? "";
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return ms > 0 ? Math.min(ms, MAX_RETRY_AFTER_MS) : undefined;
}

/** A gateway has the path, and says in JSON why it refuses. */
function startRefusal(answer: Answer, apiBaseUrl: string): string {
  const message = describe("start", answer);
  const { status, header } = answer;
  const isPathUnknown = status === 404 || status === 405 || status === 501;
  const isJson = header("content-type")?.includes("json") === true;
  return isPathUnknown && !isJson ? `${message} ${checkAddress(apiBaseUrl)}` : message;
}

function describe(what: string, { status, header, body }: Answer): string {
  const location = header("location");
  if (location !== null && status >= 300 && status < 400) {
    return `The ${what} call was redirected (status ${status}) to ${location}; redirects are not followed. Configure the final address.`;
  }
  const text = saidIn(new TextDecoder().decode(body.subarray(0, READ_BYTES)).trim());
  return `The ${what} call returned status ${status}${text === "" ? "" : `: ${text}`}.`;
}

/** The sentence and the code of an answer that is `{ "error": "…", "code": "…" }`, as gateways give it; else what there is. */
function saidIn(text: string): string {
  const excerpt = text.slice(0, EXCERPT_CHARS);
  try {
    const { error, code } = JSON.parse(text) as { readonly error?: unknown; readonly code?: unknown };
    if (typeof error !== "string") return excerpt;
    return `${error.replace(/\.$/, "")}${typeof code === "string" ? ` (${code})` : ""}`;
  } catch {
    return excerpt;
  }
}

/** Nothing listens there: of several addresses that were tried each one said so. */
function isRefused(error: unknown): boolean {
  const { cause, code, errors } = (error ?? {}) as Partial<Record<"cause" | "code" | "errors", unknown>>;
  if (Array.isArray(errors) && errors.length > 0) return errors.every(isRefused);
  return code === "ECONNREFUSED" || (cause !== undefined && isRefused(cause));
}

function hintFor(apiBaseUrl: string): string {
  const isHere = /^(localhost|127\.|\[::1\])/.test(new URL(apiBaseUrl).hostname);
  const start = isHere ? " `npx -p @holdfast/gateway holdfast-gateway dev` starts one." : "";
  return ` Is the gateway running at ${apiBaseUrl}?${start}`;
}

/** What failed may say why in its cause; with several addresses tried it has a code alone. */
function reasonOf(error: unknown): string {
  const { cause, code } = (error ?? {}) as { readonly cause?: unknown; readonly code?: unknown };
  if (cause !== undefined) return messageOf(cause) || reasonOf(cause);
  return messageOf(error) || String(code ?? "unknown");
}
