/** Waits until `look` gives something; how long is only a bound for a machine that is very busy. */
export async function until<T>(look: () => T | undefined | false | null, what: string, limitMs = 100_000): Promise<T> {
  const endMs = performance.now() + limitMs;
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false && found !== null) return found;
    if (performance.now() > endMs) throw new Error(`Timed out after ${limitMs} ms waiting for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
