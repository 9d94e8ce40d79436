/** Polls until a condition holds, and fails with what was last seen. */
import { inspect } from "node:util";
import { HoldfastError, messageOf, sleep, systemClock, systemTimers } from "@holdfast/core";
import { defaultTimeoutMs } from "./default-timeout.ts";

export interface WaitForOptions {
  /** Default 30 000, or what `HOLDFAST_TEST_TIMEOUT_MS` says. */
  readonly timeoutMs?: number;
  /** Between two checks. Default 20. */
  readonly intervalMs?: number;
  /** What is waited for, for the failure text: "the run to complete". */
  readonly what: string;
  /** Adds to the failure text, such as the state of things. */
  readonly context?: () => string | Promise<string>;
}

const MAX_SHOWN_CHARS = 2_000;

/**
 * Looks again and again until `condition` gives something truthy, and returns that. A condition that throws counts as
 * not yet; the failure text has its last answer or error.
 * @throws HoldfastError `TEST_TIMEOUT`
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: WaitForOptions,
): Promise<Exclude<T, false | null | undefined | 0 | "">> {
  const { timeoutMs = defaultTimeoutMs(), intervalMs = 20, what, context } = options;
  const startMs = systemClock.monotonicMs();
  let last = "";
  for (let checks = 1; ; checks += 1) {
    try {
      const answer = await condition();
      if (answer) return answer as Exclude<T, false | null | undefined | 0 | "">;
      last = `It last returned ${inspect(answer)}.`;
    } catch (error) {
      last = `It last failed: ${messageOf(error)}`;
    }
    const spentMs = Math.round(systemClock.monotonicMs() - startMs);
    if (spentMs >= timeoutMs) {
      const said = context ? String(await context()).slice(-MAX_SHOWN_CHARS) : "";
      const more = said === "" ? "" : `\n${said}`;
      const text = `Timed out after ${spentMs} ms waiting for ${what} (checked ${checks} times). ${last.slice(0, MAX_SHOWN_CHARS)}`;
      throw new HoldfastError("TEST_TIMEOUT", text + more);
    }
    await sleep(systemTimers, Math.min(intervalMs, timeoutMs - spentMs));
  }
}
