/** A receiver of OTLP over HTTP, as collectors are: it keeps every span that it is sent. */
import { createServer } from "node:http";

/**
 * @typedef {object} ReceivedSpan
 * @property {string} service
 * @property {string} traceId
 * @property {string} spanId
 * @property {string} parentSpanId "" = a root
 * @property {string} name
 * @property {number} startMs
 * @property {number} endMs
 * @property {boolean} failed
 * @property {Readonly<Record<string, unknown>>} attributes
 * @property {readonly { name: string, attributes: Readonly<Record<string, unknown>> }[]} events
 * @property {readonly { traceId: string, spanId: string }[]} links
 */

/** @returns {Promise<{ url: string, spans: ReceivedSpan[], headers: import("node:http").IncomingHttpHeaders[], stop: () => Promise<void> }>} */
export async function startOtlpReceiver() {
  /** @type {ReceivedSpan[]} */
  const spans = [];
  /** @type {import("node:http").IncomingHttpHeaders[]} */
  const headers = [];
  const server = createServer(async (request, response) => {
    headers.push(request.headers);
    const parts = [];
    for await (const part of request) parts.push(part);
    if (request.method !== "POST" || request.url !== "/v1/traces") return void response.writeHead(404).end();
    spans.push(...readSpans(JSON.parse(Buffer.concat(parts).toString())));
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    headers,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * @param {any} body
 * @returns {ReceivedSpan[]}
 */
function readSpans({ resourceSpans }) {
  return resourceSpans.flatMap((/** @type {any} */ { resource, scopeSpans }) => {
    const service = String(fields(resource.attributes)["service.name"]);
    return scopeSpans.flatMap((/** @type {any} */ { spans }) =>
      spans.map((/** @type {any} */ span) => ({
        service,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? "",
        name: span.name,
        startMs: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
        endMs: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
        failed: span.status?.code === 2,
        attributes: fields(span.attributes),
        events: (span.events ?? []).map((/** @type {any} */ { name, attributes }) => ({
          name,
          attributes: fields(attributes),
        })),
        links: (span.links ?? []).map((/** @type {any} */ { traceId, spanId }) => ({ traceId, spanId })),
      })),
    );
  });
}

/** @param {readonly { key: string, value: any }[]} [attributes] */
function fields(attributes = []) {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? Number(value.intValue ?? value.doubleValue),
    ]),
  );
}
