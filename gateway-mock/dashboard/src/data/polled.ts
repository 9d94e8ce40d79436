/** What has no stream of its own: read when runs change, and now and then, while the page is seen. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, environment, get, type Trouble, troubleOf } from "./api.ts";
import { renewal } from "./coalesce.ts";
import { PATIENCE_MS } from "./link.ts";
import { onFacts } from "./live.ts";
import { isAnswered, returns } from "./watch-link.ts";

export interface Polled<T> {
  /** Null: it has not been read yet. */
  readonly value: T | null;
  readonly problem: Trouble | null;
  /** When `value` was read. */
  readonly readMs: number | null;
  /** Since when an answer is waited for that takes too long; null: none does. */
  readonly lateMs: number | null;
  /** Reads it now. */
  readonly again: () => void;
}

export interface PolledOptions {
  readonly everyMs: number;
  /** Also when runs change. */
  readonly withRuns: boolean;
}

type State<T> = Omit<Polled<T>, "again">;
const UNREAD = { value: null, problem: null, readMs: null, lateMs: null };

/** What takes longer is given up: a browser asks a gateway a few things at a time, and others wait behind it. */
const GIVE_UP_MS = 30_000;

/** `read` is called with another `key` as another question; the key of nothing to ask is null. */
export function useRead<T>(
  key: string | null,
  read: (end: AbortSignal) => Promise<T>,
  { everyMs, withRuns }: PolledOptions,
): Polled<T> {
  const [state, setState] = useState<State<T>>(UNREAD);
  const [asked, setAsked] = useState<{ again: () => void }>({ again: () => {} });
  const shown = useRef("");
  const newest = useRef(read);
  newest.current = read;
  const question = `${environment.value} ${key}`;
  // While the gateway answers nothing, nothing is asked of it; what was read stays.
  const canAsk = isAnswered.value && key !== null;
  useEffect(() => {
    if (shown.current !== question) setState(UNREAD);
    shown.current = question;
    if (!canAsk) return;
    const end = new AbortController();
    const one = patient((signal) => newest.current(signal), end.signal, {
      onAnswer: (value: T) => setState({ value, problem: null, readMs: Date.now(), lateMs: null }),
      onProblem: (problem) => setState((before) => ({ ...before, problem, lateMs: null })),
      onLate: (lateMs) => setState((before) => ({ ...before, lateMs: before.lateMs ?? lateMs })),
    });
    const reading = renewal(one);
    reading.ask();
    setAsked({ again: reading.ask });
    const timer = setInterval(() => {
      if (!document.hidden) reading.ask();
    }, everyMs);
    const endFacts = onFacts(() => withRuns && reading.ask(), reading.ask);
    return () => {
      clearInterval(timer);
      reading.end();
      endFacts();
      end.abort();
    };
  }, [question, canAsk, returns.value]);
  return { ...state, again: asked.again };
}

export const usePolled = <T>(path: string | null, options: PolledOptions): Polled<T> =>
  useRead(path, (signal) => get<T>(path ?? "", { signal }), options);

interface Handlers<T> {
  readonly onAnswer: (value: T) => void;
  readonly onProblem: (problem: Trouble) => void;
  readonly onLate: (sinceMs: number) => void;
}

/** Says so when an answer takes too long, and gives it up in the end. */
function patient<T>(
  read: (end: AbortSignal) => Promise<T>,
  over: AbortSignal,
  { onAnswer, onProblem, onLate }: Handlers<T>,
): () => Promise<void> {
  return async () => {
    const question = new AbortController();
    const stop = (): void => question.abort();
    over.addEventListener("abort", stop);
    const sinceMs = Date.now();
    const late = setTimeout(() => onLate(sinceMs), PATIENCE_MS);
    const givenUp = setTimeout(stop, GIVE_UP_MS);
    try {
      const value = await read(question.signal);
      if (!over.aborted) onAnswer(value);
    } catch (error) {
      // While the gateway is away every page says so, and what was read stays.
      const isAway = question.signal.aborted || (error instanceof ApiError && error.status === 0);
      if (!over.aborted && !isAway) onProblem(troubleOf(error));
    } finally {
      clearTimeout(late);
      clearTimeout(givenUp);
      over.removeEventListener("abort", stop);
    }
  };
}
