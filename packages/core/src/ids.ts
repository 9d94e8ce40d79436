/** ULIDs, the ids of everything durable. Time and randomness are passed in, so that tests and the simulation repeat. */
import { ulid as makeUlid } from "ulid";
import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

/** Makes ULIDs: 26 Crockford base32 characters, sorted by time, rising within one millisecond. */
export type UlidFactory = (atMs?: number) => string;

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const ULID_PATTERN = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Monotonic per factory: ids made in the same millisecond (or after a clock that went back) still rise. */
export function createUlidFactory(clock: Clock, random: Random): UlidFactory {
  let lastMs = -1;
  let lastTime = "";
  let lastTail = "";
  return (atMs) => {
    if (atMs !== undefined) return makeUlid(atMs, random);
    const nowMs = clock.nowMs();
    if (nowMs > lastMs) {
      lastMs = nowMs;
      lastTime = encodeTime(nowMs);
      lastTail = makeUlid(nowMs, random).slice(10);
    } else {
      lastTail = increment(lastTail);
    }
    return lastTime + lastTail;
  };
}

export function isUlid(text: string): boolean {
  return ULID_PATTERN.test(text);
}

/** The time part of a ULID, in milliseconds since the epoch. */
export function ulidTimeMs(id: string): number {
  let time = 0;
  for (let at = 0; at < 10 && at < id.length; at += 1) time = time * 32 + ALPHABET.indexOf(id.charAt(at));
  return time;
}

/**
 * A ULID with a given time part and 10 bytes of given entropy, plus `offset` added to its last 4 bytes (big endian):
 * the event ids that a client's seed header asks for.
 */
export function ulidFromSeed(atMs: number, entropy: Uint8Array, offset: number): string {
  // By index: an iterator would be made for each id.
  const {
    0: a = 0,
    1: b = 0,
    2: c = 0,
    3: d = 0,
    4: e = 0,
    5: f = 0,
    6: g = 0,
    7: h = 0,
    8: i = 0,
    9: j = 0,
  } = entropy;
  const last = (((g << 24) | (h << 16) | (i << 8) | j) + offset) >>> 0;
  // 80 bits, 20 at a time.
  const first = fourSigns((a << 12) | (b << 4) | (c >> 4)) + fourSigns(((c & 15) << 16) | (d << 8) | e);
  return encodeTime(atMs) + first + fourSigns((f << 12) | (last >>> 20)) + fourSigns(last & 0xf_ffff);
}

/** No id that was made at this time or later is below. */
export function firstIdAt(timeMs: number): string {
  return encodeTime(Math.min(Math.max(Math.floor(timeMs), 0), MAX_TIME_MS));
}

const MAX_TIME_MS = 2 ** 48 - 1;

/** Every two signs that stand for ten bits. */
const PAIRS = Array.from(ALPHABET).flatMap((one) => Array.from(ALPHABET, (other) => one + other));

const twoSigns = (bits: number): string => PAIRS[bits & 1023] ?? "";
const fourSigns = (bits: number): string => twoSigns(bits >> 10) + twoSigns(bits);

function encodeTime(timeMs: number): string {
  const high = Math.floor(timeMs / 2 ** 20);
  return twoSigns(high >> 20) + fourSigns(high) + fourSigns(timeMs % 2 ** 20);
}

function increment(tail: string): string {
  let last = tail.length - 1;
  while (last >= 0 && tail.charAt(last) === "Z") last -= 1;
  const zeros = "0".repeat(tail.length - 1 - last);
  if (last < 0) return zeros;
  return tail.slice(0, last) + ALPHABET.charAt(ALPHABET.indexOf(tail.charAt(last)) + 1) + zeros;
}
