/** The request of an `http` node, and what it makes of the answer. */
import { HoldfastError, messageOf } from "@holdfast/core";
import { isHttpUrl } from "../definition/http-url.ts";
import { isObject, own } from "../json/json-size.ts";

export interface HttpOutput {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** As JSON where it is JSON, otherwise as text. */
  readonly body: unknown;
}

interface HttpInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

export interface HttpRequest {
  readonly url: string;
  readonly init: HttpInit;
}

/** @throws HoldfastError `GRAPH_CONFIG_INVALID` */
export function httpRequest(nodeId: string, config: unknown): HttpRequest {
  const url = own(config, "url");
  if (typeof url !== "string" || !isHttpUrl(url)) {
    const message = `\`url\` of node "${nodeId}" did not come to an absolute http or https URL.`;
    throw new HoldfastError("GRAPH_CONFIG_INVALID", message);
  }
  const given = own(config, "headers");
  const pairs = isObject(given) ? Object.entries(given).map(([name, value]) => [name, String(value)]) : [];
  const headers: Record<string, string> = Object.fromEntries(pairs);
  checkHeaders(nodeId, headers);
  const method = String(own(config, "method") ?? "GET");
  const body = own(config, "body");
  if (body === undefined || body === null) return { url, init: { method, headers } };
  if (typeof body === "string") return { url, init: { method, headers, body } };
  const isNamed = Object.keys(headers).some((name) => name.toLowerCase() === "content-type");
  const typed = isNamed ? headers : { ...headers, "content-type": "application/json" };
  return { url, init: { method, headers: typed, body: JSON.stringify(body) } };
}

function checkHeaders(nodeId: string, headers: Record<string, string>): void {
  try {
    new Headers(headers);
  } catch (cause) {
    const message = `\`headers\` of node "${nodeId}" did not come to names and values that a request can have: ${messageOf(cause)}`;
    throw new HoldfastError("GRAPH_CONFIG_INVALID", message, { cause });
  }
}

export async function outputOf(response: Response): Promise<HttpOutput> {
  return httpOutput(response.status, Object.fromEntries(response.headers), await response.text());
}

export function httpOutput(status: number, headers: Readonly<Record<string, string>>, text: string): HttpOutput {
  return { status, headers, body: jsonOr(text) };
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
