/** Ops as bytes, on their way to the other thread. */
import { allocateRoomy, pooledText, SHARED_FROM_BYTES } from "@holdfast/protocol";
import type { OpText } from "../steps/pass-types.ts";

const utf8 = new TextEncoder();

/** A JSON list of ops. Each part of a large one is written to its place: put together first all would be copied once more. */
export function opsBytes(ops: readonly OpText[], more: readonly string[] = []): Uint8Array {
  let bytes = 2 + Math.max(0, ops.length + more.length - 1);
  for (const op of ops) bytes += op.bytes;
  // A UTF-16 unit becomes at most three bytes.
  for (const text of more) bytes += 3 * text.length;
  const [only] = ops;
  if (only !== undefined && ops.length + more.length === 1 && bytes < SHARED_FROM_BYTES) {
    return pooledText(`[${only.text}]`);
  }
  const all = [...ops.map(({ text }) => text), ...more];
  if (bytes < SHARED_FROM_BYTES) return pooledText(`[${all.join(",")}]`);
  const parts = [...ops.map(({ parts, text }) => parts ?? [text]), ...more.map((text) => [text])];
  return encoded(
    parts.flatMap((one, index) => [index === 0 ? "[" : ",", ...one]).concat("]"),
    more.reduce((sum, text) => sum + Buffer.byteLength(text) - 3 * text.length, bytes),
  );
}

function encoded(parts: readonly string[], size: number): Uint8Array {
  const bytes = allocateRoomy(size);
  let at = 0;
  for (const part of parts) at += utf8.encodeInto(part, bytes.subarray(at)).written;
  return bytes;
}
