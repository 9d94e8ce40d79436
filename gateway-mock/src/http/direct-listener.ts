/**
 * Stands in front of the router and answers what needs none of it: well-formed requests to direct routes whose caller
 * is admitted. Everything else, and every refusal, is the router's, so no rule is here a second time
 * (docs/decisions/0059).
 */
import type { IncomingMessage, OutgoingHttpHeaders, RequestListener, ServerResponse } from "node:http";
import { callerProblem } from "./callers.ts";
import type { DirectAnswer, DirectHeader, DirectRequest, DirectRoute } from "./direct-route.ts";
import { logFailure } from "./errors.ts";
import { type Admitted, admit, ENVIRONMENT_HEADER, failureBody } from "./guard.ts";
import type { HttpParts } from "./parts.ts";

type ListenerParts = Pick<HttpParts, "keys" | "callers" | "log" | "errorDocs">;

/** More than any program of good will sends; the router counts what is beyond. */
const MAX_HEADERS = 50;

/** Headers that decide how a request is answered; what they say twice the router reads. */
const READ = new Set<string>([
  "authorization",
  "content-length",
  "host",
  ENVIRONMENT_HEADER,
  "x-forwarded-proto",
  "traceparent",
  "tracestate",
  "x-inngest-event-id-seed",
] satisfies (DirectHeader | "authorization" | "content-length" | "host" | typeof ENVIRONMENT_HEADER)[]);

/** Browsers send the first two: the router knows what pages may. Of a body in chunks the length is not known. */
const LEFT_TO_THE_ROUTER: ReadonlySet<string> = new Set(["origin", "sec-fetch-site", "transfer-encoding"]);

/** A name or an IPv4 address as it is mostly written; the router takes others apart. */
const PLAIN_HOST = /^[a-z0-9.-]+(?::\d{4,5})?$/;

/** Answers what it can; the rest goes to `router`. */
export function directListener(
  routes: readonly DirectRoute[],
  parts: ListenerParts,
  router: RequestListener,
): RequestListener {
  const table = routes.map((route) => ({ route, pattern: patternOf(route.path) }));
  return (incoming, outgoing) => {
    const { method, url = "" } = incoming;
    if (method === "POST") {
      for (const { route, pattern } of table) {
        const match = pattern.exec(url);
        const request = match && readRequest(incoming, url, match[1] ?? "", route, parts);
        if (request) return void answer(route, url, request, outgoing, parts);
        if (match) break;
      }
    }
    router(incoming, outgoing);
  };
}

/** Only of paths that are their own normal form: without escapes, dot segments and queries. */
function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/:\w+/, "([\\w-][\\w.~-]*)")}$`);
}

/** Undefined: left to the router. */
function readRequest(
  incoming: IncomingMessage,
  path: string,
  param: string,
  route: DirectRoute,
  { callers, keys }: ListenerParts,
): DirectRequest | undefined {
  const headers = readHeaders(incoming.rawHeaders);
  const host = headers?.get("host");
  if (!headers || host === undefined || !PLAIN_HOST.test(host)) return undefined;
  if (callerProblem({ host, origin: undefined, fetchSite: undefined }, callers)) return undefined;
  if (Number(headers.get("content-length") ?? 0) > route.maxBodyBytes) return undefined;
  const admitted = admittedBy(() =>
    admit(path, { authorization: headers.get("authorization"), environment: headers.get(ENVIRONMENT_HEADER) }, keys),
  );
  if (!admitted) return undefined;
  return {
    ...admitted,
    url: `http://${host}${path}`,
    param,
    header: (name) => headers.get(name),
    body: () => readBody(incoming),
  };
}

function readHeaders(raw: readonly string[]): ReadonlyMap<string, string> | undefined {
  if (raw.length > 2 * MAX_HEADERS) return undefined;
  const headers = new Map<string, string>();
  for (let at = 0; at < raw.length; at += 2) {
    const name = (raw[at] ?? "").toLowerCase();
    if (LEFT_TO_THE_ROUTER.has(name)) return undefined;
    if (!READ.has(name)) continue;
    if (headers.has(name)) return undefined;
    headers.set(name, raw[at + 1] ?? "");
  }
  return headers;
}

/** The router refuses it for the same reason, in its own words. */
function admittedBy(ask: () => Admitted | null): Admitted | null {
  try {
    return ask();
  } catch {
    return null;
  }
}

function readBody(incoming: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    incoming.on("error", reject);
    // Each request ends so, mostly after its body.
    incoming.on("close", () => {
      if (!incoming.readableEnded) reject(new Error("The caller has closed the connection."));
    });
  });
}

async function answer(
  route: DirectRoute,
  path: string,
  request: DirectRequest,
  outgoing: ServerResponse,
  { log, errorDocs }: ListenerParts,
): Promise<void> {
  try {
    send(outgoing, await route.answer(request));
  } catch (error) {
    logFailure(log, { method: "POST", path }, error);
    const body = failureBody(path, error, errorDocs);
    send(outgoing, { status: body.status, contentType: "application/json", body: JSON.stringify(body) });
  }
}

/** Head and body leave in one write. */
function send(outgoing: ServerResponse, { status, contentType, body }: DirectAnswer): void {
  // The caller has gone.
  if (outgoing.destroyed) return;
  if (body === null) return void outgoing.writeHead(status).end();
  outgoing.writeHead(status, headersOf(contentType, Buffer.byteLength(body)));
  // Node joins a head to text only: bytes of their own cost as much again.
  if (typeof body === "string") outgoing.end(body);
  else outgoing.end(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1"), "latin1");
}

const headersOf = (contentType: string | null, length: number): OutgoingHttpHeaders =>
  contentType === null ? { "Content-Length": length } : { "Content-Type": contentType, "Content-Length": length };
