/** Makes workers connect through the proxy: replaces the endpoint that the gateway's start call names. */
import { decodeStartResponse, encodeStartResponse } from "@holdfast/protocol";

/** Host and port. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** An endpoint of the gateway, replaced by the proxy's. */
export interface RewrittenStart {
  readonly body: Uint8Array;
  /** Where the gateway's own endpoint was. */
  readonly endpoint: Address;
}

/**
 * Replaces host and port of the WebSocket endpoint that a gateway answers to `POST /v0/connect/start`.
 * Undefined when the body is none that can be read.
 */
export function rewriteStartResponse(body: Uint8Array, proxy: Address): RewrittenStart | undefined {
  try {
    const response = decodeStartResponse(body);
    const url = new URL(response.gatewayEndpoint);
    const endpoint = { host: url.hostname, port: Number(url.port || (url.protocol === "wss:" ? 443 : 80)) };
    url.hostname = proxy.host;
    url.port = String(proxy.port);
    return { body: encodeStartResponse({ ...response, gatewayEndpoint: url.href }), endpoint };
  } catch {
    return undefined;
  }
}

/** A response's head with another body length. */
export function headWithLength(rawHead: Uint8Array, bytes: number): Uint8Array {
  const lines = Buffer.from(rawHead).toString("latin1").trimEnd().split("\r\n");
  const kept = lines.filter((line) => !/^(content-length|transfer-encoding):/i.test(line));
  return Buffer.from(`${[...kept, `Content-Length: ${bytes}`].join("\r\n")}\r\n\r\n`, "latin1");
}
