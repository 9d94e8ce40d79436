/**
 * Translates the steps `Gateway` and `AIGateway` into HTTP calls, and answers into step results. `Fetches` makes the
 * calls. Pure.
 */
import { type PlainError, plainError } from "@holdfast/core";
import { type FetchResult, parseRetryAfterMs } from "@holdfast/engine";
import { isRecord } from "@holdfast/protocol";

import type { CallOutcome, OutgoingCall } from "../ports.ts";

type Answer = Extract<CallOutcome, { ok: true }>;

export type ReadCall =
  | { readonly ok: true; readonly call: OutgoingCall; readonly resultOf: (answer: Answer) => FetchResult }
  | { readonly ok: false; readonly error: PlainError };

/**
 * The HTTP call that a step asks for (`Gateway`: any; `AIGateway`: a model), and what its answer means for the step.
 */
export function readCall(op: string, text: string): ReadCall {
  const opts: unknown = JSON.parse(text);
  if (!isRecord(opts) || typeof opts.url !== "string" || !isHttp(opts.url)) {
    const message = "The step's `url` is not an http or https address.";
    return { ok: false, error: plainError("OP_INVALID", message) };
  }
  const headers = textFields(opts.headers);
  if (op === "AIGateway") {
    const body = JSON.stringify(opts.body ?? null);
    const call = { url: opts.url, method: "POST", headers: { ...modelHeaders(opts), ...headers }, body };
    return { ok: true, call, resultOf: modelResult };
  }
  const method = typeof opts.method === "string" && opts.method !== "" ? opts.method.toUpperCase() : "GET";
  const { body } = opts;
  const sent = body === undefined || body === null ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  return {
    ok: true,
    call: { url: opts.url, method, headers, ...(sent === undefined ? {} : { body: sent }) },
    resultOf: fetchResult,
  };
}

/** Every answer is a result, as with `fetch`: the function looks at the status itself. */
function fetchResult({ url, status, headers, body }: Answer): FetchResult {
  return { type: "data", text: JSON.stringify({ url, status_code: status, headers, body }) };
}

function modelResult({ status, headers, body }: Answer): FetchResult {
  if (status >= 200 && status < 300) {
    const data = parsed(body);
    return data === undefined
      ? modelError("retry", "The model's answer is not JSON.", undefined)
      : { type: "data", text: body };
  }
  const message = `The model's provider answered ${status}: ${body.slice(0, 500)}`;
  const again = status === 408 || status === 429 || status >= 500;
  return modelError(again ? "retry" : "error", message, headers["retry-after"]);
}

function modelError(type: "retry" | "error", message: string, retryAfter: string | undefined): FetchResult {
  const error = { name: "AIGatewayError", code: "FETCH_FAILED", message };
  if (type === "error") return { type, error };
  const seconds = retryAfter !== undefined && /^\d+$/.test(retryAfter) ? retryAfter : undefined;
  return { type, error, retryAfterMs: parseRetryAfterMs(seconds, 0) };
}

/** How the providers want their key. */
function modelHeaders(opts: Readonly<Record<string, unknown>>): Record<string, string> {
  const key = typeof opts.auth_key === "string" ? opts.auth_key : "";
  const format = typeof opts.format === "string" ? opts.format : "";
  const common = { "content-type": "application/json" };
  if (format.startsWith("anthropic")) return { ...common, "x-api-key": key, "anthropic-version": "2023-06-01" };
  if (format.startsWith("gemini")) return { ...common, "x-goog-api-key": key };
  return { ...common, authorization: `Bearer ${key}` };
}

function isHttp(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

function textFields(value: unknown): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [name, field] of Object.entries(isRecord(value) ? value : {})) {
    if (typeof field === "string") fields[name.toLowerCase()] = field;
    else if (Array.isArray(field))
      fields[name.toLowerCase()] = field.filter((one) => typeof one === "string").join(", ");
  }
  return fields;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
