/** Step ids: their check, the numbering of repeats, their hash. The hash names a step on the wire and in the store. */
import { describeValue, HoldfastError } from "@holdfast/core";
import { nodeModule } from "../runtime.ts";

/** What identifies a step within its run. */
export interface StepIdentity {
  /** SHA-1 of `fullId`, 40 hex digits. */
  readonly hash: string;
  /** The id as the author wrote it. */
  readonly id: string;
  /** 0 for the first use of the id, then 1, 2 ... */
  readonly index: number;
  /** The id, for repeats with ":index" appended. */
  readonly fullId: string;
}

export const MAX_STEP_ID_LENGTH = 256;
/** Ids that start so are ours. */
export const RESERVED_PREFIX = "holdfast/";
const CACHE_SIZE = 5_000;
const SURROGATE = /[\ud800-\udfff]/;

const cache = new Map<string, string>();

/** Ids repeat from run to run, so the last few thousand hashes are kept. */
export function hashStepId(fullId: string): string {
  const known = cache.get(fullId);
  if (known !== undefined) return known;
  const made = nodeModule("node:crypto").hash("sha1", fullId, "hex");
  if (cache.size >= CACHE_SIZE) cache.clear();
  cache.set(fullId, made);
  return made;
}

/** Gives out the identities of one pass: repeats of an id are numbered in the order of the calls. */
export class StepNames {
  /** Of each full id that is taken, and so of each id: which index its next repeat tries first. */
  readonly #next = new Map<string, number>();

  /** @throws HoldfastError `STEP_INVALID` */
  next(id: unknown): StepIdentity {
    if (typeof id !== "string" || id === "" || id.length > MAX_STEP_ID_LENGTH) {
      throw new HoldfastError(
        "STEP_INVALID",
        `A step's id must be a string of 1 to ${MAX_STEP_ID_LENGTH} characters, not ${describeId(id)}.`,
      );
    }
    if (id.startsWith(RESERVED_PREFIX)) {
      throw new HoldfastError(
        "STEP_INVALID",
        `The step id "${id}" is reserved: ids must not start with "${RESERVED_PREFIX}".`,
      );
    }
    return this.#take(wellFormed(id));
  }

  #take(id: string): StepIdentity {
    for (let index = this.#next.get(id) ?? 0; ; index += 1) {
      const fullId = index === 0 ? id : `${id}:${index}`;
      // An author may have used "a:1" as an id of its own.
      if (this.#next.has(fullId)) continue;
      this.#next.set(fullId, 0);
      this.#next.set(id, index + 1);
      return { hash: hashStepId(fullId), id, index, fullId };
    }
  }
}

/**
 * As the hash and the store have it: half a character, which is what a cut leaves of an emoji, is U+FFFD there. Otherwise
 * ids that differ in such a half alone would be one step.
 */
function wellFormed(id: string): string {
  return SURROGATE.test(id) ? Buffer.from(id).toString() : id;
}

/** The identity of one of our own steps, of which there is one in a run. */
export function reservedIdentity(id: string): StepIdentity {
  return { hash: hashStepId(id), id, index: 0, fullId: id };
}

function describeId(id: unknown): string {
  return typeof id === "string" ? `a string of ${id.length}` : describeValue(id);
}
