/** What the API says of one run, kept up to date: read anew whenever its log has grown. */
import { useEffect, useState } from "preact/hooks";
import { ApiError, environment, get, type Trouble, troubleOf } from "./api.ts";
import { renewal } from "./coalesce.ts";
import { onFacts } from "./live.ts";
import { isEnded, type RunDetail } from "./types.ts";

export interface OfRun<T> {
  readonly value: T | null;
  readonly problem: Trouble | null;
  /** The gateway has no such run, as far as the environment goes. */
  readonly isMissing: boolean;
}

const EVERY_MS = 5_000;
const UNREAD = { value: null, problem: null, isMissing: false };

/** What a route says of the run, and how it is; read now and then also without a change, while the run goes on. */
export function useOfRun<T extends { readonly status?: unknown }>(runId: string, path: string): OfRun<T> {
  const [state, setState] = useState<OfRun<T>>(UNREAD);
  const scope = environment.value;
  useEffect(() => {
    let isOver = false;
    let status = "";
    setState(UNREAD);
    const reading = renewal(async () => {
      try {
        const value = await get<T>(path);
        if (isOver) return;
        status = String(value.status);
        setState({ value, problem: null, isMissing: false });
      } catch (error) {
        if (!isOver && error instanceof ApiError && error.status !== 0)
          setState({ value: null, problem: troubleOf(error), isMissing: error.status === 404 });
      }
    });
    reading.ask();
    const end = onFacts((changes) => changes.some((one) => one.runId === runId) && reading.ask(), reading.ask);
    // Why it waits follows from more than its own log: who is connected, what is paused.
    const timer = setInterval(() => {
      if (!isEnded(status) && !document.hidden) reading.ask();
    }, EVERY_MS);
    return () => {
      isOver = true;
      clearInterval(timer);
      reading.end();
      end();
    };
  }, [runId, path, scope]);
  return state;
}

export interface RunState {
  readonly run: RunDetail | null;
  readonly problem: Trouble | null;
  readonly isMissing: boolean;
}

export function useRun(id: string): RunState {
  const { value, problem, isMissing } = useOfRun<RunDetail>(id, `/v1/runs/${encodeURIComponent(id)}?log=1`);
  return { run: value, problem, isMissing };
}
