/** Says which fields of events are none and were ignored: to the sender, and now and then in the log. */
import type { Clock, Log } from "@holdfast/core";
import { ignoredField, unknownField } from "../dispatch/index.ts";

const LOG_EVERY_MS = 60_000;
const MAX_WARNINGS = 10;

export class IgnoredFields {
  readonly #parts: { readonly log: Log; readonly clock: Clock };
  #loggedAtMs: number | null = null;

  constructor(parts: { readonly log: Log; readonly clock: Clock }) {
    this.#parts = parts;
  }

  /** Sentences; none: undefined. */
  of(events: readonly object[]): readonly string[] | undefined {
    let found: string[] | undefined;
    for (const [index, event] of events.entries()) {
      const field = unknownField(event);
      if (field === undefined) continue;
      found ??= [];
      found.push(ignoredField(index, field));
      if (found.length >= MAX_WARNINGS) break;
    }
    if (found !== undefined) this.#tell(found[0] ?? "");
    return found;
  }

  #tell(warning: string): void {
    const nowMs = this.#parts.clock.monotonicMs();
    if (this.#loggedAtMs !== null && nowMs - this.#loggedAtMs < LOG_EVERY_MS) return;
    this.#loggedAtMs = nowMs;
    this.#parts.log("warn", `A sender's events have fields that are ignored. ${warning} This is said once a minute.`);
  }
}
