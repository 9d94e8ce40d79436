/**
 * One POST by `node:http`, in the shape that `gateway-http.ts` asks for. Node's `fetch` does the same, but loading it
 * takes a new thread longer than the call itself, and `ws` has loaded this module anyway (docs/decisions/0061).
 */
import { type ClientRequest, type IncomingMessage, request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import type { GatewayAnswer, GatewayCall } from "./gateway-http.ts";

/** Redirects are not followed and nothing is kept alive. What fails after `signal` fired fails with its reason. */
export function postByNodeHttp(url: URL, call: GatewayCall): Promise<GatewayAnswer> {
  const { headers, body, signal } = call;
  const request = url.protocol === "https:" ? secureRequest : plainRequest;
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => reject(signal.aborted ? signal.reason : error);
    let sent: ClientRequest;
    try {
      sent = request(url, { method: "POST", headers, agent: false, signal });
    } catch (error) {
      return fail(error);
    }
    sent.once("response", (response) => resolve(answerOf(response, signal)));
    sent.on("error", fail);
    // A peer that switches protocols is hung up on without an error.
    sent.once("close", () => fail(new Error("The connection was closed without an answer.")));
    sent.end(body);
  });
}

function answerOf(response: IncomingMessage, signal: AbortSignal): GatewayAnswer {
  return {
    status: response.statusCode ?? 0,
    headers: {
      get: (name) => {
        const value = response.headers[name];
        return value === undefined ? null : String(value);
      },
    },
    body: bodyOf(response, signal),
  };
}

async function* bodyOf(response: IncomingMessage, signal: AbortSignal): AsyncIterable<Uint8Array> {
  try {
    for await (const chunk of response) yield chunk as Buffer;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}
