/** What is to know of the bytes of a large JSON text before it is decoded: four at a time, since each is looked at. */

export interface ByteMarks {
  /** Each is a character by itself. */
  readonly isAscii: boolean;
  /** There is one below 0x20: white space between values, or what no string of JSON may hold. */
  readonly hasControls: boolean;
}

const HIGH = 0x80808080;
const SPACES = 0x20202020;
const NO_WORDS = new Int32Array(0);

/** Of the lowest byte below 0x20 the highest bit is set; above it some may be set that are not. */
const lowBytes = (word: number): number => (word - SPACES) & ~word;

export function byteMarks(bytes: Uint8Array): ByteMarks {
  const { length, byteOffset } = bytes;
  const first = -byteOffset & 3;
  const count = Math.max(0, length - first) >>> 2;
  const words = count === 0 ? NO_WORDS : new Int32Array(bytes.buffer, byteOffset + first, count);
  let all = 0;
  let below = 0;
  let next = 0;
  // Four in each turn of the loop, which takes as long as one of them.
  for (; next < count - 3; next += 4) {
    const one = words[next] as number;
    const two = words[next + 1] as number;
    const three = words[next + 2] as number;
    const four = words[next + 3] as number;
    all |= one | two | three | four;
    below |= lowBytes(one) | lowBytes(two) | lowBytes(three) | lowBytes(four);
  }
  for (; next < count; next += 1) {
    const word = words[next] as number;
    all |= word;
    below |= lowBytes(word);
  }
  // What lies before and after the words.
  for (let at = 0; at < length; at += 1) {
    if (count > 0 && at === first) at += 4 * count;
    if (at >= length) break;
    const byte = bytes[at] as number;
    all |= byte;
    if (byte < 0x20) below |= 0x80;
  }
  return { isAscii: (all & HIGH) === 0, hasControls: (below & HIGH) !== 0 };
}
