/**
 * Whether the database is still the one that acknowledged what it acknowledged: a connection that ends is a doubt, since
 * what is behind the next one may be another server (docs/decisions/0103).
 */
import { type BackoffPolicy, backoffDelayMs, type Log, type Random, sleep, type Timers } from "@holdfast/core";
import { safeMessage } from "./pg-errors.ts";

export interface Doubts {
  /** A connection has ended. */
  add(): void;
  /** How often that was. */
  readonly count: number;
  /** Who settles them: when it is asked for, and soon after one has come up. */
  settleWith(verify: () => Promise<void>): void;
  /** Resolves when there are none: at once, unless a connection has ended since the last time. */
  settle(): Promise<void>;
}

export interface DoubtsParts {
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly url: string;
  readonly backoff: BackoffPolicy;
  readonly closing: AbortSignal;
}

export function createDoubts({ timers, random, log, url, backoff, closing }: DoubtsParts): Doubts {
  let count = 0;
  let verify = (): Promise<void> => Promise.resolve();
  let isVerifying = false;

  /** Others may wait for what this gateway alone has in memory: it does not wait until it is asked for something. */
  const verifySoon = async (): Promise<void> => {
    for (let attempt = 1; !closing.aborted; attempt += 1) {
      await sleep(timers, backoffDelayMs(backoff, attempt, random), closing);
      try {
        if (!closing.aborted) await verify();
        break;
      } catch (error) {
        log("debug", `The database could not be compared with what it had acknowledged: ${safeMessage(error, url)}`);
      }
    }
    isVerifying = false;
  };

  return {
    add() {
      count += 1;
      if (isVerifying || closing.aborted) return;
      isVerifying = true;
      void verifySoon();
    },
    get count() {
      return count;
    },
    settleWith(other) {
      verify = other;
    },
    settle: () => verify(),
  };
}
