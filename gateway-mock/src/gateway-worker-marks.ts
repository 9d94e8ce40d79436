/**
 * Lists what there is to be seen of the workers of this gateway (docs/glossary.md: worker state), so that every gateway of
 * the database shows it. It is written when it changes; looking at the workers asks no database.
 */
import type { ConnectionMark } from "@holdfast/store";

const EVERY_MS = 1_000;
/** When a network goes, all workers fall silent at once: the list has other things to write, too. */
const MOST_AT_ONCE = 100;

export interface WorkerMarksParts {
  readonly conditions: { marks(): Iterable<readonly [connectionId: string, mark: ConnectionMark | null]> };
  readonly list: { mark(connectionId: string, mark: ConnectionMark | null): boolean };
}

/** Returns what ends it. */
export function startWorkerMarks({ conditions, list }: WorkerMarksParts): () => void {
  const look = (): void => {
    let written = 0;
    for (const [connectionId, mark] of conditions.marks()) {
      if (list.mark(connectionId, mark)) written += 1;
      if (written === MOST_AT_ONCE) return;
    }
  };
  const timer = setInterval(look, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
