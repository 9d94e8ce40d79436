/**
 * `step.fetch`: its arguments as a call for the gateway, which makes the request, and its recorded answer as a
 * `Response`.
 */
import { isRecord } from "@holdfast/protocol";
import { invalidStep, named, type StepCall, type StepId } from "./step-call.ts";
import { undoStepOf } from "./undo-step.ts";

export type FetchTarget = string | URL | Request;

/** What `step.fetch` takes of the options that `fetch` knows: the gateway makes the request, so the body is text. */
export interface StepFetchInit {
  readonly method?: string;
  readonly headers?: RequestInit["headers"];
  readonly body?: string | URLSearchParams | null;
}

/** The call of a `step.fetch(target, init?)` or `step.fetch(id, target, init?)`; a promise when the body of a Request has to be read first. */
export function fetchCall(args: readonly unknown[]): StepCall | Promise<StepCall> {
  const hasId = isTarget(args[1]);
  const [target, init] = (hasId ? args.slice(1) : args) as [FetchTarget, StepFetchInit | undefined];
  const given = hasId ? (args[0] as StepId) : undefined;
  const shown = given ?? "step.fetch";
  if (!isTarget(target)) throw invalidStep(shown, "step.fetch() needs the address as a string, a URL or a Request");
  const url = urlOf(shown, target);
  const id = given ?? `step.fetch: ${url.hostname}`;
  const request = target instanceof Request ? target : undefined;
  const headers = headersOf(shown, init?.headers ?? request?.headers);
  const method = (init?.method ?? request?.method ?? "GET").toUpperCase();
  const made = (body: string | undefined): StepCall => ({
    ...named(id),
    kind: "fetch",
    opts: { url: url.href, method, headers, ...(body === undefined ? {} : { body }), ...undoStepOf(init) },
    ...undoStepOf(init),
    show: responseOf,
  });
  const body = bodyOf(shown, init?.body, headers);
  if (body !== undefined || !request?.body) return made(body);
  return request
    .clone()
    .arrayBuffer()
    .then(
      (bytes) => made(textOf(shown, bytes)),
      (cause: unknown) => {
        throw invalidStep(shown, "the body of its Request cannot be read", cause);
      },
    );
}

/** Bytes that are no text would be others once they are sent. */
function textOf(id: StepId, bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw invalidStep(id, "the body of its Request is not UTF-8 text; send bytes with fetch() in step.run()", cause);
  }
}

function isTarget(value: unknown): value is FetchTarget {
  return typeof value === "string" || value instanceof URL || value instanceof Request;
}

function urlOf(id: StepId, target: FetchTarget): URL {
  const text = target instanceof Request ? target.url : String(target);
  if (URL.canParse(text)) {
    const url = new URL(text);
    if (url.protocol === "http:" || url.protocol === "https:") return url;
  }
  throw invalidStep(id, `step.fetch() needs an absolute http or https URL, not ${JSON.stringify(text.slice(0, 200))}`);
}

function headersOf(id: StepId, given: RequestInit["headers"]): Record<string, string> {
  try {
    return Object.fromEntries(new Headers(given));
  } catch (cause) {
    throw invalidStep(id, "its headers are not valid", cause);
  }
}

function bodyOf(id: StepId, body: unknown, headers: Record<string, string>): string | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string") return body;
  if (body instanceof URLSearchParams) {
    headers["content-type"] ??= "application/x-www-form-urlencoded;charset=UTF-8";
    return body.toString();
  }
  throw invalidStep(id, "the body of step.fetch() must be a string; it is stored with the step");
}

/** Statuses whose responses have no body. */
const NO_BODY: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);

/** What the gateway recorded, as the Response that `fetch` would have given. */
function responseOf(recorded: unknown): Response {
  const { url, status_code, headers, body } = isRecord(recorded) ? recorded : {};
  const status = typeof status_code === "number" ? status_code : 200;
  const text = typeof body === "string" || body === undefined || body === null ? (body ?? "") : JSON.stringify(body);
  const isKnown = status >= 200 && status <= 599;
  const response = new Response(NO_BODY.has(status) ? null : (text as string), {
    status: isKnown ? status : 200,
    headers: recordedHeaders(headers),
  });
  if (!isKnown) Object.defineProperties(response, { status: { value: status }, ok: { value: false } });
  return typeof url === "string" ? Object.defineProperty(response, "url", { value: url }) : response;
}

/** One value or several for each name. */
function recordedHeaders(value: unknown): Headers {
  const headers = new Headers();
  for (const [name, entry] of Object.entries(isRecord(value) ? value : {})) {
    for (const each of [entry].flat()) {
      // The body is here as it was read: neither packed nor in chunks.
      if (!/^(content-encoding|transfer-encoding)$/i.test(name)) headers.append(name, String(each));
    }
  }
  return headers;
}
