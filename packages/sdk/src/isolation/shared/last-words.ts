/** What a thread says of the code that it runs, when main is about to end it. */
import type { NamedSubject } from "./subject-text.ts";

export interface LastWords {
  /** Innermost first, one line a frame. "" = no code is running: it waits for something. */
  readonly stack: string;
  /** The code is what this one left behind, and not that of the turn; null = it is that of the turn, as far as is known. */
  readonly leftBy: NamedSubject | null;
}

export function lastWordsOf(text: string): LastWords | null {
  try {
    const { stack, leftBy } = JSON.parse(text) as LastWords;
    return typeof stack === "string" ? { stack, leftBy } : null;
  } catch {
    return null;
  }
}
