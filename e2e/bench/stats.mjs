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
