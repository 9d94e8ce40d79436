/** `cancel` = an event that cancels the run. */
export type WaitKind = "event" | "signal" | "invoke" | "cancel";

/** Something from outside that a run waits for. Unique on (run, key); a second one changes nothing. */
export interface NewWait {
  readonly runId: string;
  /** The waiting step's hashed id, or `cancel:<n>`. */
  readonly key: string;
  readonly kind: WaitKind;
  /** The event's name, the signal, or the id of the run whose end is waited for. */
  readonly name: string;
  /** Condition on the incoming event; the store only keeps it. */
  readonly expression?: string | null;
  /** What it is found by beside the name: two lines of text; default "". */
  readonly match?: string;
  /** Nothing counts any more this long after now (the run is told by a timer of its own); default never. */
  readonly expiresInMs?: number | null;
  /** Signals: what to do when another step waits for the same one: lose (`signal`), or take its place. Default fail. */
  readonly conflict?: "fail" | "replace";
}

/** A wait that is looked at. */
export interface StoredWait {
  readonly runId: string;
  readonly key: string;
  readonly kind: WaitKind;
  readonly name: string;
  readonly expression: string | null;
  readonly match: string;
  readonly beganMs: number;
  readonly expiresMs: number | null;
}

export interface WaitQuery {
  readonly name: string;
  readonly kinds: readonly WaitKind[];
  readonly eventId?: string;
  /** Only those with one of these. Default [""]. */
  readonly matches?: readonly string[];
  /** 1 to 1000. */
  readonly limit: number;
  /** The last one of the page before. */
  readonly after?: { readonly match: string; readonly runId: string; readonly key: string };
}
