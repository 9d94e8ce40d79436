/** Throws when `condition` is false: a bug in Holdfast itself, never the caller's fault. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Invariant broken: ${message}`);
}

/** The end of an exhaustive switch: compiles only when every case was handled. */
export function unreachable(value: never): never {
  throw new Error(`Unreachable case: ${JSON.stringify(value)}`);
}
