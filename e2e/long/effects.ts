import type { JournalReader } from "../test/journal-reader.ts";

/** What the apps did more than once, as "run what: times". */
export function duplicates(journal: JournalReader): string[] {
  const times = new Map<string, number>();
  for (const { runId, what } of journal.entries()) {
    const effect = `${runId} ${what}`;
    times.set(effect, (times.get(effect) ?? 0) + 1);
  }
  return [...times].filter(([, count]) => count > 1).map(([effect, count]) => `${effect}: ${count}`);
}
