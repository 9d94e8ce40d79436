/**
 * Masks and unmasks frames of a WebSocket four bytes at a time. `ws` asks the module `bufferutil` for it, which is native
 * code; in the thread's script and in the gateway's bundle this one has its place. Node's own, where there is one, comes
 * before both.
 */

/** As `bufferutil` has it: `output` from `offset` on becomes the masked source. */
export function mask(source: Uint8Array, key: Uint8Array, output: Uint8Array, offset: number, length: number): void {
  const target = output.subarray(offset, offset + length);
  target.set(source.length === length ? source : source.subarray(0, length));
  unmask(target, key);
}

/** In place; masking and unmasking are the same. */
export function unmask(bytes: Uint8Array, key: Uint8Array): void {
  const { length } = bytes;
  const head = Math.min(length, -bytes.byteOffset & 3);
  for (let at = 0; at < head; at += 1) bytes[at] = (bytes[at] as number) ^ (key[at & 3] as number);
  const count = (length - head) >>> 2;
  if (count > 0) {
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + head, count);
    const word = wordOf(key, head);
    for (let at = 0; at < count; at += 1) words[at] = (words[at] as number) ^ word;
  }
  for (let at = head + 4 * count; at < length; at += 1) {
    bytes[at] = (bytes[at] as number) ^ (key[at & 3] as number);
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
