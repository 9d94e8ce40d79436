/**
 * How a function's runs have ended in the last hour, in slots of two minutes: a ring of counters, which takes 5 kB and
 * does not grow. For charts. Pure.
 */

export const SLOT_MS = 120_000;
export const SLOTS = 30;

/** Upper bounds of how long runs took grow by this, from 1 ms to a day: a percentile is off by a quarter or so. */
const GROWTH = 1.6;
const BUCKETS = 40;

export interface RecentSlot {
  /** When it began. */
  readonly atMs: number;
  /** How many runs ended, those that failed among them. */
  readonly ended: number;
  readonly failed: number;
  /** How long all but the longest hundredth of them took, from their creation, as closely as it was counted. */
  readonly p99Ms: number | null;
}

export class RecentRuns {
  /** Which slot of time each place has; a place is used again after an hour. */
  readonly #slotAt = new Float64Array(SLOTS).fill(-1);
  readonly #ended = new Uint32Array(SLOTS);
  readonly #failed = new Uint32Array(SLOTS);
  readonly #lengths = new Uint32Array(SLOTS * BUCKETS);
  readonly #longestMs = new Float64Array(SLOTS);

  /** Of a time before the last hour nothing is counted. */
  ended(atMs: number, tookMs: number, hasFailed: boolean): void {
    const slot = Math.floor(atMs / SLOT_MS);
    const place = slot % SLOTS;
    const there = this.#slotAt[place] ?? -1;
    if (there > slot) return;
    if (there < slot) this.#clear(place, slot);
    this.#ended[place] = (this.#ended[place] ?? 0) + 1;
    if (hasFailed) this.#failed[place] = (this.#failed[place] ?? 0) + 1;
    const bucket = place * BUCKETS + bucketOf(tookMs);
    this.#lengths[bucket] = (this.#lengths[bucket] ?? 0) + 1;
    this.#longestMs[place] = Math.max(this.#longestMs[place] ?? 0, tookMs);
  }

  /** All slots of the hour that ends now, the oldest first. */
  read(nowMs: number): RecentSlot[] {
    const last = Math.floor(nowMs / SLOT_MS);
    return Array.from({ length: SLOTS }, (_, index) => this.#read(last - SLOTS + 1 + index));
  }

  #read(slot: number): RecentSlot {
    const place = slot % SLOTS;
    const atMs = slot * SLOT_MS;
    if (this.#slotAt[place] !== slot) return { atMs, ended: 0, failed: 0, p99Ms: null };
    const ended = this.#ended[place] ?? 0;
    return { atMs, ended, failed: this.#failed[place] ?? 0, p99Ms: this.#percentile(place, ended) };
  }

  #percentile(place: number, ended: number): number {
    const wanted = Math.ceil(ended * 0.99);
    const longestMs = Math.round(this.#longestMs[place] ?? 0);
    // Of fewer than a hundred it is the longest, which is known.
    if (wanted === ended) return longestMs;
    let below = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      below += this.#lengths[place * BUCKETS + bucket] ?? 0;
      if (below >= wanted) return Math.min(longestMs, middleOf(bucket));
    }
    return longestMs;
  }

  #clear(place: number, slot: number): void {
    this.#slotAt[place] = slot;
    this.#ended[place] = 0;
    this.#failed[place] = 0;
    this.#longestMs[place] = 0;
    this.#lengths.fill(0, place * BUCKETS, (place + 1) * BUCKETS);
  }
}

function bucketOf(tookMs: number): number {
  if (tookMs <= 1) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log(tookMs) / Math.log(GROWTH)));
}

/** Between its bounds, as ratios go. */
const middleOf = (bucket: number): number => Math.max(1, Math.round(GROWTH ** (bucket - 0.5)));
