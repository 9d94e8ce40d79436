/**
 * Where bytes are kept on their way out. Each small buffer of its own costs a microsecond, and work for the collector;
 * each copy of a large one costs a millisecond.
 */

/** Where a message goes that is ready; must have that many bytes, all its own. */
export type Allocate = (bytes: number) => Uint8Array;

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

/** What a message has before and after its largest field, with the envelope around it, mostly has room in this. */
const ROOM_BYTES = 1024;

/** Bytes around which nothing has been written yet. */
const roomy = new WeakSet<Uint8Array>();

/** As `allocateSharable`; large ones have room around them for the message that they become a part of. */
export const allocateRoomy: Allocate = (bytes) => {
  if (bytes < SHARED_FROM_BYTES) return allocatePooled(bytes);
  const view = allocateSharable(bytes + 2 * ROOM_BYTES).subarray(ROOM_BYTES, ROOM_BYTES + bytes);
  roomy.add(view);
  return view;
};

/**
 * The bytes with these before and after them, in the room that they have; with a copy of a megabyte less. Once: afterwards
 * their room is taken. Undefined where they have none, or too little.
 */
export function inRoom(before: Uint8Array, bytes: Uint8Array, after: Uint8Array): Uint8Array | undefined {
  if (!roomy.has(bytes) || before.length + ENVELOPE_BYTES > ROOM_BYTES || after.length > ROOM_BYTES) return undefined;
  roomy.delete(bytes);
  const { length } = before;
  const whole = new Uint8Array(bytes.buffer, bytes.byteOffset - length, length + bytes.length + after.length);
  whole.set(before);
  whole.set(after, length + bytes.length);
  return whole;
}

/** Kind and length of a message, each with its tag, and no more than that. */
export const ENVELOPE_BYTES = 16;

/** Pooled, if the text is short. */
export const pooledText = (text: string): Uint8Array => Buffer.from(text);

const utf8 = new TextEncoder();

/** In memory as `allocateRoomy` gives it. */
export function sharableText(text: string): Uint8Array {
  // A UTF-16 unit becomes at most three bytes, so most texts need no counting.
  if (text.length * 3 < SHARED_FROM_BYTES) return pooledText(text);
  const bytes = allocateRoomy(Buffer.byteLength(text));
  utf8.encodeInto(text, bytes);
  return bytes;
}

/** Of bytes below 0x80. One byte a character, in memory as on the wire: what decodes in pieces makes two of each. */
export const asciiText = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
