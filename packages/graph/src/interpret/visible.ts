/**
 * What a node sees: the outputs of the nodes on the way to it. Which those are is carried along the edges as a set of
 * bits, so it depends on the ways that were taken and never on what else has ended meanwhile.
 */
import type { Plan } from "./plan.ts";

export type Bits = Uint32Array;

export const noBits = (size: number): Bits => new Uint32Array(Math.ceil(size / 32));

export function hasBit(bits: Bits, index: number): boolean {
  return (((bits[index >> 5] ?? 0) >>> (index & 31)) & 1) === 1;
}

export function addBit(bits: Bits, index: number): Bits {
  const next = bits.slice();
  next[index >> 5] = (next[index >> 5] ?? 0) | (1 << (index & 31));
  return next;
}

export function addBits(to: Bits, more: Bits): void {
  for (let at = 0; at < to.length; at += 1) to[at] = (to[at] ?? 0) | (more[at] ?? 0);
}

/** Costs what there is in the set, not what there might be: most nodes see few others. */
function forEachBit(bits: Bits, act: (index: number) => void): void {
  for (let at = 0; at < bits.length; at += 1) {
    for (let word = bits[at] ?? 0; word !== 0; word &= word - 1) act(at * 32 + 31 - Math.clz32(word & -word));
  }
}

/** Values of one pass through a scope; those of the scopes around it are behind `outer`. */
export interface Values {
  readonly outer?: Values;
  /** Names that the scope itself gives: `input` and `run`, or item and index of an iteration. */
  readonly own: ReadonlyMap<string, unknown>;
  /** By the number of the node. */
  readonly outputs: Map<number, unknown>;
}

/** The value of a name; undefined: the node does not see it. */
export function lookUp(plan: Plan, values: Values, bits: Bits, name: string): unknown {
  for (let at: Values | undefined = values; at !== undefined; at = at.outer) {
    if (at.own.has(name)) return at.own.get(name);
  }
  const node = plan.names.get(name);
  return node === undefined || !hasBit(bits, node.index) ? undefined : outputOf(values, node.index);
}

function outputOf(values: Values, index: number): unknown {
  for (let at: Values | undefined = values; at !== undefined; at = at.outer) {
    if (at.outputs.has(index)) return at.outputs.get(index);
  }
  return undefined;
}

/** All that a node sees, by name. */
export function ctxOf(plan: Plan, values: Values, bits: Bits): Record<string, unknown> {
  const entries = new Map<string, unknown>();
  for (let at: Values | undefined = values; at !== undefined; at = at.outer) {
    for (const [name, value] of at.own) if (!entries.has(name)) entries.set(name, value);
  }
  forEachBit(bits, (index) => {
    const node = plan.nodes[index];
    if (node === undefined || entries.has(node.name)) return;
    const value = outputOf(values, index);
    if (value !== undefined) entries.set(node.name, value);
  });
  return Object.fromEntries(entries);
}
