const UNITS = [
  ["w", 604_800_000],
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
] as const;

/**
 * A duration as the wire protocol writes it: "1m30s". The base protocol knows whole seconds only: the rest is cut, less
 * than a second becomes "1s" and nothing becomes "". With `exact` the milliseconds are kept: "1s500ms", "0s".
 */
export function wireDuration(durationMs: number, exact = false): string {
  const whole = Math.max(0, Math.round(durationMs));
  if (!exact && whole < 1000) return whole === 0 ? "" : "1s";
  if (whole === 0) return "0s";
  let rest = whole;
  let text = "";
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) text += `${count}${unit}`;
  }
  return exact && rest > 0 ? `${text}${rest}ms` : text;
}
