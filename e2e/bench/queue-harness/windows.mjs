/** Percentiles of the last thirty seconds in bounded memory: a histogram of three figures for each second. */
import { createHistogram } from "node:perf_hooks";

export class Window {
  #seconds;
  /** @type {{ second: number, histogram: import("node:perf_hooks").RecordableHistogram }[]} */
  #slots = [];

  /** @param {number} seconds */
  constructor(seconds) {
    this.#seconds = seconds;
  }

  /**
   * @param {number} nowMs
   * @param {number} valueMs
   */
  add(nowMs, valueMs) {
    const second = Math.floor(nowMs / 1000);
    let last = this.#slots.at(-1);
    if (last?.second !== second) {
      last = { second, histogram: createHistogram({ figures: 3, highest: 1e10 }) };
      this.#slots.push(last);
      this.#forget(second);
    }
    // Microseconds: a histogram has whole numbers from 1 on.
    last.histogram.record(Math.max(1, Math.min(1e10, Math.round(valueMs * 1000))));
  }

  /** @param {number} nowMs */
  percentiles(nowMs) {
    this.#forget(Math.floor(nowMs / 1000));
    const all = createHistogram({ figures: 3, highest: 1e10 });
    for (const { histogram } of this.#slots) all.add(histogram);
    const at = (/** @type {number} */ share) => (all.count === 0 ? 0 : all.percentile(share) / 1000);
    return { p50: at(50), p95: at(95), p99: at(99) };
  }

  /** @param {number} second */
  #forget(second) {
    while ((this.#slots[0]?.second ?? second) <= second - this.#seconds) this.#slots.shift();
  }
}
