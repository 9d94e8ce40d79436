/** Reads a small JSON body of named fields, for routes that take options. */
import { HoldfastError } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import type { Context } from "hono";
import { readJsonBody } from "./json-body.ts";

/**
 * An object with no other fields than these; {} where there is no body.
 * @throws HoldfastError `BODY_INVALID`
 */
export async function bodyOf(c: Context, fields: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const bytes = new Uint8Array(await c.req.arrayBuffer());
  if (bytes.byteLength === 0) return {};
  const body = await readJsonBody(bytes);
  if (!isRecord(body)) throw new HoldfastError("BODY_INVALID", "The body must be a JSON object.");
  const other = Object.keys(body).find((name) => !fields.includes(name));
  if (other === undefined) return body;
  const known = fields.map((name) => `\`${name}\``).join(", ");
  throw new HoldfastError("BODY_INVALID", `The body has no field ${JSON.stringify(other)}; it may have ${known}.`);
}
