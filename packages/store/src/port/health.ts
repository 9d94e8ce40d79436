export interface StoreStats {
  readonly batches: number;
  /** Those that took one round trip; all others took two. */
  readonly foreseenBatches: number;
  readonly transitions: number;
  /** Statements sent by group commits, BEGIN and COMMIT included. */
  readonly statements: number;
  readonly logRows: number;
  /** Transitions that a fence turned away. */
  readonly staleWrites: number;
  readonly duplicateRows: number;
  readonly batchRetries: number;
  readonly queued: number;
  /** How long group commits took together. */
  readonly commitMs: number;
}

export interface DatabaseHealth {
  /** False: nothing has been answered for a while. Calls wait and are tried again. */
  readonly ok: boolean;
  /** For how long it has been away; 0 when it is not. */
  readonly awayMs: number;
  /** What the last failed call said, when it is away. */
  readonly error: string | null;
  /** Since the start: how often it was away, and for how long altogether. */
  readonly outages: number;
  readonly awayMsTotal: number;
  /** Since the start: transactions and statements that the server undid (deadlock, serialization failure, cancelled). */
  readonly conflicts: number;
}
