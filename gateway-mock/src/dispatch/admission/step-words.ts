/** How steps and their next attempts are named in the reasons of runs. Pure. */
import type { WaitingFacts } from "./waiting-facts.ts";
import type { FailedAttempt } from "./waiting-steps.ts";
import { quoted, spanText } from "./waiting-text.ts";

export const stepName = ({ steps }: WaitingFacts, key: string): string | null => steps.steps.get(key)?.name ?? null;

export const ofStep = (name: string | null): string => (name === null ? "a step" : `the step \`${quoted(name)}\``);

/** "attempt 2 of 4 of `charge` in 8 s: 503 …" */
export function attemptText(facts: WaitingFacts, { key, attempt, message, nextMs }: FailedAttempt): string {
  const { maxAttempts } = facts.steps;
  const of = maxAttempts === null ? "" : ` of ${maxAttempts}`;
  const name = stepName(facts, key);
  const what = key === "" ? "its handler" : name === null ? "a step" : `\`${quoted(name)}\``;
  return `attempt ${attempt + 2}${of} of ${what} in ${spanText(nextMs - facts.nowMs)}, after ${quoted(message)}`;
}

export const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
