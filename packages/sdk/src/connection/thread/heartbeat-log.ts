/** When heartbeats were last sent and answered, for the debug state. `link-driver.ts` reports them. */
import type { Clock } from "@holdfast/core";

export interface HeartbeatFacts {
  readonly intervalMs: number | null;
  readonly lastSentAtMs: number | null;
  readonly lastAnsweredAtMs: number | null;
  readonly roundTripMs: number | null;
}

/** What the debug state says about heartbeats. */
export interface HeartbeatLog extends HeartbeatFacts {
  onStarted(intervalMs: number): void;
  onSent(): void;
  onAnswered(): void;
}

export function createHeartbeatLog(clock: Clock): HeartbeatLog {
  let intervalMs: number | null = null;
  let lastSentAtMs: number | null = null;
  let lastAnsweredAtMs: number | null = null;
  let roundTripMs: number | null = null;
  let sentAtMs: number | null = null;
  return {
    get intervalMs() {
      return intervalMs;
    },
    get lastSentAtMs() {
      return lastSentAtMs;
    },
    get lastAnsweredAtMs() {
      return lastAnsweredAtMs;
    },
    get roundTripMs() {
      return roundTripMs;
    },
    onStarted: (interval) => {
      intervalMs = interval;
    },
    onSent: () => {
      lastSentAtMs = clock.nowMs();
      sentAtMs = clock.monotonicMs();
    },
    onAnswered: () => {
      lastAnsweredAtMs = clock.nowMs();
      if (sentAtMs !== null) roundTripMs = Math.round((clock.monotonicMs() - sentAtMs) * 1000) / 1000;
      sentAtMs = null;
    },
  };
}
