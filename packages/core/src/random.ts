/** A source of numbers in [0, 1). A port: production uses `systemRandom`, tests a seeded one. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();

/** A number in [0, 1) that follows from a text: the same on every machine, evenly spread over texts. */
export function unitOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return seededRandom(hash)();
}

/** A small seeded generator (mulberry32): the same seed gives the same numbers on every machine. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
