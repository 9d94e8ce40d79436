/** Makes one HTTP call for a step: redirects, limits of size and time, and what its failure means for a retry. */
import type { Readable } from "node:stream";
import { pipeline } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { messageOf } from "@holdfast/core";
import { WIRE_LIMITS } from "@holdfast/protocol";
import { type Dispatcher, errors, request } from "undici";
import type { CallOutcome, CallTrouble, OutgoingCall } from "../dispatch/index.ts";
import { isInnerAddress } from "./addresses.ts";
import { connectionsFor, InnerAddressError, type Lookup } from "./connections.ts";

export interface CallSettings {
  /** Whether calls may go to this machine and its network. */
  readonly allowInner: boolean;
  /** From the first byte out to the last byte in, redirects included. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Default: the system's. */
  readonly lookup?: Lookup;
  /** Default: connections of its own, which `close` ends. */
  readonly dispatcher?: Dispatcher;
}

export const CALL_LIMITS = { timeoutMs: 300_000, maxBytes: WIRE_LIMITS.maxOutputBytes } as const;
const MAX_REDIRECTS = 10;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Those that name one connection or the body as it was. */
const OWN_HEADERS = ["host", "connection", "content-length", "transfer-encoding", "expect", "upgrade"];

/** Not sent to another origin: the last two are how `call-ops.ts` gives the keys of models. */
const SECRET_HEADERS = ["authorization", "proxy-authorization", "cookie", "x-api-key", "x-goog-api-key"];

class CallError extends Error {
  readonly trouble: CallTrouble;

  constructor(trouble: CallTrouble) {
    super(trouble.message);
    this.trouble = trouble;
  }
}

/** Makes the HTTP calls of steps. */
export class Caller {
  readonly #settings: CallSettings;
  readonly #dispatcher: Dispatcher;
  readonly #isOwn: boolean;

  constructor(settings: CallSettings) {
    this.#settings = settings;
    const { dispatcher } = settings;
    this.#dispatcher = dispatcher ?? connectionsFor(settings);
    this.#isOwn = dispatcher === undefined;
  }

  /** Makes one call with its redirects. Never rejects. */
  async call(call: OutgoingCall, outer: AbortSignal): Promise<CallOutcome> {
    const { timeoutMs } = this.#settings;
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([outer, limit]);
    try {
      let next = call;
      for (let hops = 0; ; hops += 1) {
        const answer = await this.#send(next, signal);
        const { location } = answer.headers;
        if (!REDIRECTS.has(answer.status) || location === undefined) return { ok: true, ...answer };
        if (hops >= MAX_REDIRECTS) throw refused(`${call.url} redirects more than ${MAX_REDIRECTS} times`);
        if (!URL.canParse(location, next.url)) throw refused(`${next.url} redirects to something that is not a URL`);
        next = redirected(next, answer.status, new URL(location, next.url));
      }
    } catch (error) {
      if (limit.aborted && !outer.aborted) {
        return trouble("FETCH_TIMEOUT", true, `${call.url} did not answer within ${timeoutMs} ms.`);
      }
      return troubleOf(call, error);
    }
  }

  /** Ends the connections, and the calls that are under way. */
  async close(): Promise<void> {
    if (this.#isOwn) await this.#dispatcher.destroy();
  }

  async #send(call: OutgoingCall, signal: AbortSignal): Promise<Answer> {
    const url = new URL(call.url);
    if (url.protocol !== "http:" && url.protocol !== "https:") throw refused(`${call.url} is neither http nor https`);
    // Before a connection that is there already is used, too.
    if (!this.#settings.allowInner && isInnerAddress(url.hostname)) throw new InnerAddressError(url.hostname);
    const { statusCode, headers, body } = await request(url, {
      dispatcher: this.#dispatcher,
      method: call.method as Dispatcher.HttpMethod,
      headers: sentHeaders(call),
      ...(call.body === undefined ? {} : { body: call.body }),
      signal,
    });
    const encoding = headers["content-encoding"];
    // Such an answer says how a body would be encoded, and has none.
    const isEmpty = call.method === "HEAD" || statusCode === 204 || statusCode === 304;
    const decoded = isEmpty || typeof encoding !== "string" ? undefined : encoding.trim().toLowerCase();
    const text = await read(body, decoded, this.#settings.maxBytes);
    return { url: call.url, status: statusCode, headers: headersOf(headers), body: text };
  }
}

type Answer = Omit<Extract<CallOutcome, { ok: true }>, "ok">;

function troubleOf({ url }: OutgoingCall, error: unknown): CallTrouble {
  if (error instanceof CallError) return error.trouble;
  if (error instanceof InnerAddressError) return refused(error.message).trouble;
  // A method, header or body that no request can have.
  const isOurs = error instanceof errors.InvalidArgumentError || error instanceof errors.NotSupportedError;
  return trouble("FETCH_FAILED", !isOurs, `${url} could not be called: ${messageOf(error)}.`);
}

function sentHeaders(call: OutgoingCall): Record<string, string> {
  const headers: Record<string, string> = { "user-agent": "holdfast-gateway", "accept-encoding": "gzip, deflate, br" };
  for (const [name, value] of Object.entries(call.headers)) if (!OWN_HEADERS.includes(name)) headers[name] = value;
  return headers;
}

function redirected(call: OutgoingCall, status: number, url: URL): OutgoingCall {
  const asGet = status === 303 || ((status === 301 || status === 302) && call.method === "POST");
  const same = url.origin === new URL(call.url).origin;
  const kept = Object.entries(call.headers).filter(
    ([name]) => (same || !SECRET_HEADERS.includes(name)) && !(asGet && name.startsWith("content-")),
  );
  const { body, ...rest } = call;
  const moved = { ...rest, url: url.href, headers: Object.fromEntries(kept) };
  if (asGet) return { ...moved, method: "GET" };
  return body === undefined ? moved : { ...moved, body };
}

function read(source: Readable, encoding: string | undefined, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const decoder = decoderOf(encoding);
    let received = 0;
    if (decoder) {
      source.on("data", (chunk: Buffer) => {
        received += chunk.byteLength;
      });
      // Of what the decoder finds at the end of the data `pipeline` does not hear any more: without a listener it would
      // end the process. Some servers say how a body would be encoded, and send none.
      decoder.on("error", (error) => (received === 0 ? resolve("") : reject(error)));
    }
    const text = decoder ? pipeline(source, decoder, (error) => error && reject(error)) : source;
    const chunks: Buffer[] = [];
    let bytes = 0;
    text.on("data", (chunk: Buffer) => {
      bytes += chunk.byteLength;
      chunks.push(chunk);
      if (bytes <= maxBytes) return;
      reject(new CallError(trouble("FETCH_TOO_LARGE", false, `The response is larger than ${maxBytes} bytes.`)));
      source.destroy();
    });
    text.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    source.on("error", reject);
  });
}

function decoderOf(encoding: string | undefined): ReturnType<typeof createGunzip> | undefined {
  switch (encoding) {
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    default:
      return undefined;
  }
}

function headersOf(given: Dispatcher.ResponseData["headers"]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  // The body is no longer in this form.
  delete headers["content-encoding"];
  return headers;
}

function trouble(code: CallTrouble["code"], retry: boolean, message: string): CallTrouble {
  return { ok: false, code, retry, message };
}

function refused(what: string): CallError {
  return new CallError(trouble("FETCH_REFUSED", false, `${what}.`));
}
