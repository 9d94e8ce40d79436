/** Reads request bodies within their limits, and ends those that never end. */
import type { IncomingMessage } from "node:http";
import { HoldfastError } from "@holdfast/core";
import type { Context, MiddlewareHandler } from "hono";
import { GATEWAY_LIMITS } from "../config/config.ts";

/**
 * Refuses bodies over `maxBytes`, also those that do not say how long they are. The rest of a body is read and dropped:
 * a connection that ends while its peer still writes takes the answer with it.
 */
export function limitBody(maxBytes: number): MiddlewareHandler {
  return async (c, next) => {
    const { body, isWhole } = await readBody(c, maxBytes);
    if (!isWhole) throw tooLarge(maxBytes);
    if (body) c.req.raw = new Request(c.req.raw, { body });
    return await next();
  };
}

/** `body` only where it had to be read to know how long it is. */
async function readBody(
  c: Context,
  maxBytes: number,
): Promise<{ readonly body?: Uint8Array<ArrayBuffer>; readonly isWhole: boolean }> {
  if (!isChunked(c)) return { isWhole: declaredBytes(c) <= maxBytes };
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of c.req.raw.body ?? []) {
    size += chunk.byteLength;
    if (size <= maxBytes) chunks.push(chunk);
    else chunks.length = 0;
    if (size > maxBytes + GATEWAY_LIMITS.maxDroppedBodyBytes) break;
  }
  return size > maxBytes ? { isWhole: false } : { body: Uint8Array.from(Buffer.concat(chunks)), isWhole: true };
}

/**
 * After an answer that did not wait for the body: what is left of it is dropped if it is known and small, else the
 * connection.
 */
export function endEndlessBodies(): MiddlewareHandler {
  return async (c, next) => {
    await next();
    const { incoming } = (c.env ?? {}) as { readonly incoming?: IncomingMessage };
    if (incoming === undefined || incoming.complete) return;
    if (isChunked(c) || declaredBytes(c) > GATEWAY_LIMITS.maxDroppedBodyBytes) c.header("Connection", "close");
  };
}

function isChunked(c: Context): boolean {
  return c.req.header("transfer-encoding") !== undefined;
}

function declaredBytes(c: Context): number {
  return Number(c.req.header("content-length") ?? 0);
}

function tooLarge(maxBytes: number): HoldfastError {
  return new HoldfastError("BODY_TOO_LARGE", `The body is larger than ${maxBytes} bytes.`);
}
