/** What has no stream of its own: read when runs change, and now and then, while the page is seen. */
import { useEffect, useState } from "preact/hooks";
import { ApiError, environment, get, type Trouble, troubleOf } from "./api.ts";
import { renewal } from "./coalesce.ts";
import { onFacts } from "./live.ts";

export interface Polled<T> {
  /** Null: it has not been read yet. */
  readonly value: T | null;
  readonly problem: Trouble | null;
  /** Reads it now. */
  readonly again: () => void;
}

export interface PolledOptions {
  readonly everyMs: number;
  /** Also when runs change. */
  readonly withRuns: boolean;
}

export function usePolled<T>(path: string, { everyMs, withRuns }: PolledOptions): Polled<T> {
  const [state, setState] = useState<{ value: T | null; problem: Trouble | null }>({ value: null, problem: null });
  const [asked, setAsked] = useState<{ again: () => void }>({ again: () => {} });
  const scope = environment.value;
  useEffect(() => {
    let isOver = false;
    setState({ value: null, problem: null });
    const reading = renewal(async () => {
      try {
        const value = await get<T>(path);
        if (!isOver) setState({ value, problem: null });
      } catch (error) {
        // While the gateway is away the navigation says so, and what was read stays.
        const isAway = error instanceof ApiError && error.status === 0;
        if (!isOver && !isAway) setState((before) => ({ ...before, problem: troubleOf(error) }));
      }
    });
    reading.ask();
    setAsked({ again: reading.ask });
    const timer = setInterval(() => {
      if (!document.hidden) reading.ask();
    }, everyMs);
    const end = onFacts(() => withRuns && reading.ask(), reading.ask);
    return () => {
      isOver = true;
      clearInterval(timer);
      reading.end();
      end();
    };
  }, [path, scope]);
  return { ...state, again: asked.again };
}
