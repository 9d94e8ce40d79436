/** How the database and the way to it behave. */
export interface StoreConditions {
  /** Usual one-way delay, up to this. */
  latencyMs: number;
  spikeRate: number;
  spikeMs: number;
  /** A call is refused after long trying; nothing was stored. */
  failRate: number;
  /** A write is refused although it was stored. */
  doubtRate: number;
  /** A wake-up gets lost. */
  wakeLossRate: number;
  /** No answer comes before this. */
  answersAtMs?: number;
}

export const CALM_STORE: StoreConditions = {
  latencyMs: 1,
  spikeRate: 0,
  spikeMs: 0,
  failRate: 0,
  doubtRate: 0,
  wakeLossRate: 0,
};
