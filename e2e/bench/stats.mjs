/** The arithmetic of the benchmark: medians, quantiles, and ratios of rows that were measured in turn. Pure. */

/** @param {readonly number[]} values */
export const median = (values) => quantile(values, 0.5);

/**
 * The value below which a share of the values lies (nearest rank).
 * @param {readonly number[]} values
 * @param {number} share 0 to 1
 */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN;
}

/**
 * @typedef {object} Spread
 * @property {number} median
 * @property {number} from
 * @property {number} to
 */

/**
 * Values that are no numbers (what could not be measured) do not count.
 * @param {readonly number[]} values
 * @returns {Spread}
 */
export function spread(values) {
  const known = values.filter(Number.isFinite);
  if (known.length === 0) return { median: Number.NaN, from: Number.NaN, to: Number.NaN };
  return { median: median(known), from: Math.min(...known), to: Math.max(...known) };
}

/**
 * How many times the other's value each value is, pair by pair: both of a pair were measured right after each other, so
 * what else the machine did happened to both. A median of quotients, not a quotient of medians.
 * @param {readonly number[]} values
 * @param {readonly number[]} others as many, in the same order
 * @returns {Spread}
 */
export function ratios(values, others) {
  return spread(values.map((value, index) => value / (others[index] ?? Number.NaN)));
}
