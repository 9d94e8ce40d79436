/** Jobs of one lane share all their limits. */
export interface Lane {
  /**
   * Hexadecimal digits, the same for the same slots; then, with a throttle, "~" and what tells it from other throttles.
   * What comes after "~" is dropped with the first start.
   */
  readonly id: string;
  /** What the job occupies while it is leased: at most two. */
  readonly slots: readonly string[];
  /** What the job's first start is paced by. */
  readonly throttle: string | null;
}

/** The limits of a function's lanes, as they are now. */
export interface ClaimLimits {
  /** How many jobs may be leased at once per value of the first and of the second slot. */
  readonly slots: readonly number[];
  /** `burst` starts at once, then one each `everyMs`. */
  readonly throttle: { readonly everyMs: number; readonly burst: number } | null;
  /** Slots are shared with other functions. */
  readonly shared: boolean;
}
