/**
 * Where bytes are kept on their way out. Each small buffer of its own costs a microsecond, and work for the collector;
 * each copy of a large one costs a millisecond.
 */
import type { Allocate } from "./codec-writer.ts";

/**
 * For what is sent and forgotten: small ones share memory, which costs a tenth of memory of their own. Posted to another
 * thread as they are they would take all of it along.
 */
export const allocatePooled: Allocate = (bytes) => Buffer.allocUnsafe(bytes);

/** Below this a copy costs less than memory that threads share. */
export const SHARED_FROM_BYTES = 64 * 1024;

/**
 * For what another thread is to have, too: large ones are shared by posting them, small ones are pooled. What is in them
 * is not changed once they are posted. V8 does not count shared memory, and collects none while nothing else is
 * allocated; memory of the same size that is left at once is counted, and never written to.
 */
export const allocateSharable: Allocate = (bytes) => {
  if (bytes < SHARED_FROM_BYTES) return allocatePooled(bytes);
  void new ArrayBuffer(bytes);
  return new Uint8Array(new SharedArrayBuffer(bytes));
};

/** Pooled, if the text is short. */
export const pooledText = (text: string): Uint8Array => Buffer.from(text);

const utf8 = new TextEncoder();

/** In memory as `allocateSharable` gives it. */
export function sharableText(text: string): Uint8Array {
  // A UTF-16 unit becomes at most three bytes, so most texts need no counting.
  if (text.length * 3 < SHARED_FROM_BYTES) return pooledText(text);
  const bytes = allocateSharable(Buffer.byteLength(text));
  utf8.encodeInto(text, bytes);
  return bytes;
}

/** Of bytes below 0x80. One byte a character, in memory as on the wire: what decodes in pieces makes two of each. */
export const asciiText = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
