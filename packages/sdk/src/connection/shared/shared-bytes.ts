/** Bytes that the pass made, on their way to the other thread. */
import { allocateSharable, SHARED_FROM_BYTES } from "@holdfast/protocol";

/** The same bytes, in memory that is shared if they are many. */
export function sharable(bytes: Uint8Array): Uint8Array {
  if (bytes.byteLength < SHARED_FROM_BYTES || bytes.buffer instanceof SharedArrayBuffer) return bytes;
  const shared = allocateSharable(bytes.byteLength);
  shared.set(bytes);
  return shared;
}
