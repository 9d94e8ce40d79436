import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface JournalEntry {
  readonly runId: string;
  readonly what: string;
  readonly pid: number;
  readonly at: number;
  /** The request in which it happened. */
  readonly request?: string;
}

/** The journal of `fixtures/journal.mjs`, as the test reads it. */
export class JournalReader {
  readonly path: string;

  constructor(folder: string) {
    this.path = join(folder, "journal.jsonl");
    writeFileSync(this.path, "");
  }

  entries(runId?: string): JournalEntry[] {
    const lines = readFileSync(this.path, "utf8").split("\n").slice(0, -1);
    const all = lines.map((line) => JSON.parse(line) as JournalEntry);
    return all.filter((entry) => runId === undefined || entry.runId === runId);
  }

  /** How often each thing was noted in a run. */
  counts(runId: string): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { what } of this.entries(runId)) counts[what] = (counts[what] ?? 0) + 1;
    return counts;
  }

  has(runId: string, what: string, times = 1): boolean {
    return (this.counts(runId)[what] ?? 0) >= times;
  }

  /** Lets everything through that waits at the gate of this name, now and later. */
  open(gate: string): void {
    writeFileSync(join(dirname(this.path), `open-${gate}`), "");
  }

  isOpen(gate: string): boolean {
    return existsSync(join(dirname(this.path), `open-${gate}`));
  }
}
