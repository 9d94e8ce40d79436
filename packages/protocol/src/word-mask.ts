/**
 * Masks and unmasks frames of a WebSocket four bytes at a time. `ws` asks the module `bufferutil` for it, which is native
 * code; in the thread's script and in the gateway's bundle this one has its place. Node's own, where there is one, comes
 * before both.
 */

/**
 * As `bufferutil` has it: `output` from `offset` on becomes the masked source. In one pass: a copy that is masked
 * afterwards takes twice as long, and out of memory that threads share V8 copies byte by byte.
 */
export function mask(source: Uint8Array, key: Uint8Array, output: Uint8Array, offset: number, length: number): void {
  const from = output.byteOffset + offset;
  const head = Math.min(length, -from & 3);
  for (let at = 0; at < head; at += 1) output[offset + at] = (source[at] as number) ^ (key[at & 3] as number);
  const start = source.byteOffset + head;
  // The last word of the source, where its words lie between those of its memory, is of two of these.
  const words = (source.buffer.byteLength - (start & ~3)) >>> 2;
  const count = IS_LITTLE_ENDIAN ? Math.max(0, Math.min((length - head) >>> 2, words - 1)) : 0;
  if (count > 0) {
    const target = new Int32Array(output.buffer, from + head, count);
    const read = new Int32Array(source.buffer, start & ~3, count + 1);
    if ((start & 3) === 0) maskWords(read, target, count, wordOf(key, head));
    else maskBetween(read, target, count, wordOf(key, head), 8 * (start & 3));
  }
  for (let at = head + 4 * count; at < length; at += 1) {
    output[offset + at] = (source[at] as number) ^ (key[at & 3] as number);
  }
}

/** In place; masking and unmasking are the same. */
export function unmask(bytes: Uint8Array, key: Uint8Array): void {
  const { length } = bytes;
  const head = Math.min(length, -bytes.byteOffset & 3);
  for (let at = 0; at < head; at += 1) bytes[at] = (bytes[at] as number) ^ (key[at & 3] as number);
  const count = (length - head) >>> 2;
  if (count > 0) {
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + head, count);
    maskWords(words, words, count, wordOf(key, head));
  }
  for (let at = head + 4 * count; at < length; at += 1) {
    bytes[at] = (bytes[at] as number) ^ (key[at & 3] as number);
  }
}

/** Four in each turn of the loop, which takes as long as one of them. */
function maskWords(source: Int32Array, target: Int32Array, count: number, word: number): void {
  let at = 0;
  for (; at < count - 3; at += 4) {
    target[at] = (source[at] as number) ^ word;
    target[at + 1] = (source[at + 1] as number) ^ word;
    target[at + 2] = (source[at + 2] as number) ^ word;
    target[at + 3] = (source[at + 3] as number) ^ word;
  }
  for (; at < count; at += 1) target[at] = (source[at] as number) ^ word;
}

/** The words that begin so many bits after those of `source`, which has one more. Of a machine with the low byte first. */
function maskBetween(source: Int32Array, target: Int32Array, count: number, word: number, bits: number): void {
  const rest = 32 - bits;
  let first = source[0] as number;
  let at = 0;
  for (; at < count - 3; at += 4) {
    const second = source[at + 1] as number;
    const third = source[at + 2] as number;
    const fourth = source[at + 3] as number;
    const fifth = source[at + 4] as number;
    target[at] = ((first >>> bits) | (second << rest)) ^ word;
    target[at + 1] = ((second >>> bits) | (third << rest)) ^ word;
    target[at + 2] = ((third >>> bits) | (fourth << rest)) ^ word;
    target[at + 3] = ((fourth >>> bits) | (fifth << rest)) ^ word;
    first = fifth;
  }
  for (; at < count; at += 1) {
    const second = source[at + 1] as number;
    target[at] = ((first >>> bits) | (second << rest)) ^ word;
    first = second;
  }
}

const IS_LITTLE_ENDIAN = new Uint8Array(new Int32Array([1]).buffer)[0] === 1;

/** The key from its byte `from` on, as this machine orders the bytes of a number. */
function wordOf(key: Uint8Array, from: number): number {
  let word = 0;
  for (let at = 0; at < 4; at += 1) {
    const byte = key[(from + at) & 3] as number;
    word |= byte << (8 * (IS_LITTLE_ENDIAN ? at : 3 - at));
  }
  return word;
}
