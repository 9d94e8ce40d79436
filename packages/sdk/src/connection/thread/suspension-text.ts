/** What is said of a suspension, and no more than the clocks know. */

/** What both clocks showed between two signs of life. */
export interface SeenByClocks {
  /** By the monotonic clock. */
  readonly stoodMs: number;
  /** How much further the wall clock went than the monotonic one; negative: it was set back. */
  readonly jumpMs: number;
  /** From when on standing still is a suspension. */
  readonly limitMs: number;
}

/** Clocks that are set right now and then are not worth a word. */
const JUMP_MS = 1_000;

/**
 * A monotonic clock that went on for too long is a suspension for sure. Where only the wall clock jumped ahead it may have
 * been set, or the machine was suspended, since its monotonic clock may stand still meanwhile. Null: too little to tell.
 */
export function suspensionText({ stoodMs, jumpMs, limitMs }: SeenByClocks): string | null {
  const what = stoodMs > limitMs ? `The connection thread did not run for ${Math.round(stoodMs)} ms` : jumpText(jumpMs);
  return what === null ? null : `${what}; each request it holds is confirmed before it starts.`;
}

function jumpText(jumpMs: number): string | null {
  if (Math.abs(jumpMs) < JUMP_MS) return null;
  const seconds = Math.round(Math.abs(jumpMs) / 1000);
  return jumpMs < 0
    ? `The machine's clock was set back by ${seconds} s`
    : `The machine's clock jumped ahead by ${seconds} s, or the machine was suspended`;
}
