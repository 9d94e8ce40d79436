import type { JournalReader } from "../test/journal-reader.ts";

/** Step bodies that ran more than once, as "run step: times". What came back from a step is noted as "got ..." */
export function duplicates(journal: JournalReader): string[] {
  const times = new Map<string, number>();
  for (const { runId, what } of journal.entries()) {
    if (what.startsWith("got ")) continue;
    const effect = `${runId} ${what}`;
    times.set(effect, (times.get(effect) ?? 0) + 1);
  }
  return [...times].filter(([, count]) => count > 1).map(([effect, count]) => `${effect}: ${count}`);
}

/** Step bodies that ran after their result had come back to the function, which means that it was stored. */
export function redoneAfterAcknowledgement(journal: JournalReader): string[] {
  const acknowledged = new Set<string>();
  const redone: string[] = [];
  // Lines are appended with one write each, so their order is the order of things, over all processes.
  for (const { runId, what } of journal.entries()) {
    if (what.startsWith("got ")) acknowledged.add(`${runId} ${what.slice(4)}`);
    else if (acknowledged.has(`${runId} ${what}`)) redone.push(`${runId} ${what}`);
  }
  return redone;
}

/** How many step bodies ran. */
export function bodies(journal: JournalReader): number {
  return journal.entries().filter(({ what }) => !what.startsWith("got ")).length;
}
