import { lookup as systemLookup } from "node:dns";
import { type ClientRequest, type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { pipeline } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { messageOf } from "@holdfast/core";
import { WIRE_LIMITS } from "@holdfast/protocol";
import type { CallOutcome, CallTrouble, OutgoingCall } from "../engine/index.ts";
import { isInnerAddress } from "./addresses.ts";

export interface CallSettings {
  /** Whether calls may go to this machine and its network. */
  readonly allowInner: boolean;
  /** From the first byte out to the last byte in, redirects included. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

export const CALL_LIMITS = { timeoutMs: 300_000, maxBytes: WIRE_LIMITS.maxOutputBytes } as const;
const MAX_REDIRECTS = 10;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Those that name one connection or the body as it was. */
const OWN_HEADERS = ["host", "connection", "content-length", "transfer-encoding", "expect", "upgrade"];

class CallError extends Error {
  readonly trouble: CallTrouble;

  constructor(trouble: CallTrouble) {
    super(trouble.message);
    this.trouble = trouble;
  }
}

/** Makes one HTTP call with its redirects. Never rejects. */
export async function makeCall(settings: CallSettings, call: OutgoingCall, outer: AbortSignal): Promise<CallOutcome> {
  const limit = AbortSignal.timeout(settings.timeoutMs);
  const signal = AbortSignal.any([outer, limit]);
  try {
    let next = call;
    for (let hops = 0; ; hops += 1) {
      const answer = await send(settings, next, signal);
      const { location } = answer.headers;
      if (!REDIRECTS.has(answer.status) || location === undefined) return { ok: true, ...answer };
      if (hops >= MAX_REDIRECTS) throw refused(`${call.url} redirects more than ${MAX_REDIRECTS} times`);
      next = redirected(next, answer.status, new URL(location, next.url));
    }
  } catch (error) {
    if (limit.aborted && !outer.aborted) {
      return trouble("FETCH_TIMEOUT", true, `${call.url} did not answer within ${settings.timeoutMs} ms.`);
    }
    if (error instanceof CallError) return error.trouble;
    return trouble("FETCH_FAILED", true, `${call.url} could not be called: ${messageOf(error)}.`);
  }
}

function redirected(call: OutgoingCall, status: number, url: URL): OutgoingCall {
  const asGet = status === 303 || ((status === 301 || status === 302) && call.method === "POST");
  const same = url.origin === new URL(call.url).origin;
  const kept = Object.entries(call.headers).filter(
    ([name]) => (same || !["authorization", "cookie"].includes(name)) && !(asGet && name.startsWith("content-")),
  );
  const { body, ...rest } = call;
  const moved = { ...rest, url: url.href, headers: Object.fromEntries(kept) };
  if (asGet) return { ...moved, method: "GET" };
  return body === undefined ? moved : { ...moved, body };
}

type Answer = Omit<Extract<CallOutcome, { ok: true }>, "ok">;

function send(settings: CallSettings, call: OutgoingCall, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const url = new URL(call.url);
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      reject(refused(`${call.url} is neither http nor https`));
      return;
    }
    if (!settings.allowInner && isInnerAddress(url.hostname)) {
      reject(innerAddress(url.hostname));
      return;
    }
    const request = open(settings, call, url, signal);
    request.on("error", reject);
    request.on("response", (response) => {
      read(settings, response).then(
        (body) => resolve({ url: call.url, status: response.statusCode ?? 0, headers: headersOf(response), body }),
        reject,
      );
    });
    request.end(call.body);
  });
}

function open(settings: CallSettings, call: OutgoingCall, url: URL, signal: AbortSignal): ClientRequest {
  const headers: Record<string, string> = { "user-agent": "holdfast-gateway", "accept-encoding": "gzip, deflate, br" };
  for (const [name, value] of Object.entries(call.headers)) if (!OWN_HEADERS.includes(name)) headers[name] = value;
  if (call.body !== undefined) headers["content-length"] = String(Buffer.byteLength(call.body));
  const options: RequestOptions = { method: call.method, headers, signal, agent: false };
  // Names are looked at where they are resolved, so that the address that was checked is the one that is called.
  if (!settings.allowInner) options.lookup = outerLookup;
  return url.protocol === "https:" ? requestHttps(url, options) : requestHttp(url, options);
}

const outerLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (error, addresses) => {
    const found = Array.isArray(addresses) ? addresses : [];
    const [first] = found;
    if (error || !first) return callback(error ?? new Error(`${hostname} has no address`), "", 0);
    if (found.some(({ address }) => isInnerAddress(address))) return callback(innerAddress(hostname), "", 0);
    if (options.all) return callback(null, found);
    return callback(null, first.address, first.family);
  });
};

function read(settings: CallSettings, response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const decoder = decoderOf(response.headers["content-encoding"]);
    const chunks: Buffer[] = [];
    let bytes = 0;
    const source = decoder ? pipeline(response, decoder, (error) => error && reject(error)) : response;
    source.on("data", (chunk: Buffer) => {
      bytes += chunk.byteLength;
      chunks.push(chunk);
      if (bytes <= settings.maxBytes) return;
      reject(new CallError(trouble("FETCH_TOO_LARGE", false, `The answer is larger than ${settings.maxBytes} bytes.`)));
      response.destroy();
    });
    source.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    response.on("error", reject);
    response.on("aborted", () => reject(new Error("the answer ended early")));
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

function headersOf(response: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
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

function innerAddress(host: string): CallError {
  return refused(`${host} is an address of this gateway's own network, which steps may not call`);
}
