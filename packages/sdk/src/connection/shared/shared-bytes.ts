/**
 * Memory that main and the connection thread have in common, for large replies and checkpoints: main keeps them in the
 * ledger until they are acknowledged, the thread sends them meanwhile, and posting a copy would be one more of each.
 */

/** Below this a copy costs less than memory of its own. */
export const SHARED_FROM_BYTES = 64 * 1024;

/** A buffer of exact size; large ones are shared by posting them. What is in them is not changed once they are posted. */
export function allocateSharable(bytes: number): Uint8Array {
  return bytes >= SHARED_FROM_BYTES ? new Uint8Array(new SharedArrayBuffer(bytes)) : new Uint8Array(bytes);
}

/** The same bytes, in memory that is shared if they are many. */
export function sharable(bytes: Uint8Array): Uint8Array {
  if (bytes.byteLength < SHARED_FROM_BYTES) return bytes;
  const shared = allocateSharable(bytes.byteLength);
  shared.set(bytes);
  return shared;
}
