/** The pool of threads as the connection thread sees it, also while main is blocked: from the memory that all share. */
import type { PoolState } from "@holdfast/protocol";
import { threadCells } from "../../isolation/shared/thread-cells.ts";

/** Isolated requests: how many stand in line, and how old the oldest of all is; null = there is none. */
export interface IsolatedLoad {
  readonly queued: number;
  readonly oldestMs: number | null;
}

/** `memory`: that of the pool; null = the connection has none. */
export function poolStateReader(
  memory: SharedArrayBuffer | null,
  load: () => IsolatedLoad,
): (monotonicMs: number) => PoolState | null {
  if (memory === null) return () => null;
  const cells = threadCells(memory);
  return (monotonicMs) => {
    const { queued, oldestMs, ...figures } = cells.readFigures(monotonicMs);
    const own = load();
    const ages = [oldestMs, own.oldestMs].filter((ms) => ms !== null);
    return {
      ...figures,
      busy: cells.countBusy(),
      queued: queued + own.queued,
      ...(ages.length === 0 ? {} : { oldestMs: Math.max(...ages) }),
    };
  };
}
