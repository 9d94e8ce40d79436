/** What happens each second, counted from the live stream: of all gateways, since the page was opened. */
import { signal } from "@preact/signals";
import { type Facts, onFacts } from "./live.ts";
import { link } from "./watch-link.ts";

export interface Second {
  readonly atMs: number;
  readonly begun: number;
  readonly ended: number;
  readonly failed: number;
  readonly steps: number;
}

/** The newest last; seconds without anything are there too. */
export const KEPT_SECONDS = 120;
export const seconds = signal<readonly Second[]>([]);

const empty = (atMs: number): Second => ({ atMs, begun: 0, ended: 0, failed: 0, steps: 0 });

/** What a second comes to with more changes. */
export function counted(second: Second, changes: readonly Facts[]): Second {
  let { begun, ended, failed, steps } = second;
  for (const { facts } of changes) {
    for (const { kind } of facts) {
      if (kind === "RUN_CREATED") begun += 1;
      else if (kind === "RUN_COMPLETED" || kind === "RUN_CANCELLED") ended += 1;
      else if (kind === "STEP_COMPLETED") steps += 1;
      else if (kind === "RUN_FAILED") {
        ended += 1;
        failed += 1;
      }
    }
  }
  return { ...second, begun, ended, failed, steps };
}

/** Until the returned function is called. */
export function startRates(): () => void {
  let current = empty(Date.now());
  const end = onFacts(
    (changes) => {
      current = counted(current, changes);
    },
    () => {},
  );
  const timer = setInterval(() => {
    // Of a second in which nothing could be heard nothing is known.
    if (link.value.type !== "live") return;
    seconds.value = [...seconds.value, current].slice(-KEPT_SECONDS);
    current = empty(Date.now());
  }, 1_000);
  return () => {
    clearInterval(timer);
    end();
  };
}
