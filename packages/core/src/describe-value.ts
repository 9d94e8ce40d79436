const MAX_CHARS = 200;

/** Any value as part of a message. Never throws, whatever getters and proxies the value has. */
export function describeValue(value: unknown): string {
  try {
    const text = JSON.stringify(value) ?? String(value);
    return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}...` : text;
  } catch {
    return typeof value === "bigint" ? `${value}n` : `a value of type ${typeof value}`;
  }
}

const HALF = /\p{Surrogate}/u;

/** What the database cannot store as it is, so that no name or id may have it; null: it has nothing of the kind. */
export function unstorableIn(text: string): string | null {
  if (text.includes("\0")) return "a NUL character";
  return HALF.test(text) ? "half of a surrogate pair" : null;
}

/** NUL, the end of a line, escape sequences: what has no place in names. */
export function hasControlCharacter(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}
