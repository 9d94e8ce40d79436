/** What is unique of a fact in the log of a run: no two of one key are ever stored. */
import type { LogRow } from "../port/work.ts";

export const factKeyOf = (runId: string, fact: Pick<LogRow, "key" | "kind" | "attempt" | "iteration">): string =>
  `${runId}\n${fact.key}\n${fact.kind}\n${fact.attempt}\n${fact.iteration}`;
