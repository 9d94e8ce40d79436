/**
 * Watches the link to the gateway for the whole page: the live stream says at once when it breaks off, and a question
 * that the database has a part in, asked again and again, says whether the gateway can answer anything.
 */
import { computed, signal } from "@preact/signals";
import { isAnswering, type Link, linkOf, NOTHING_WRONG, type Observed, PATIENCE_MS } from "./link.ts";

const EVERY_MS = 2_000;
/** Nothing is heard of a question for so long: another one may get through. */
const GIVE_UP_MS = 10_000;
const AWAY_EVERY_MS = 1_000;

let observed: Observed = NOTHING_WRONG;
export const link = signal<Link>({ type: "live" });
/** What is asked now and then waits for it. */
export const isAnswered = computed(() => isAnswering(link.value));

/** How often it has come back: what was asked before may still wait for an answer, or rest after a long one. */
export const returns = signal(0);

const isWell = ({ type }: Link): boolean => type === "live" || type === "cut" || type === "held";

function note(change: Partial<Observed>): void {
  observed = { ...observed, ...change };
  const next = linkOf(observed, Date.now());
  if (JSON.stringify(next) === JSON.stringify(link.value)) return;
  if (isWell(next) && !isWell(link.value)) returns.value += 1;
  link.value = next;
}

let wake = (): void => {};

export function noteStream(isOpen: boolean): void {
  note({ streamCutMs: isOpen ? null : (observed.streamCutMs ?? Date.now()) });
  // Whether it is the stream alone shows at once.
  wake();
}

export const noteHeard = (): void => note({ heardMs: Date.now() });

/** Until the returned function is called. */
export function watchLink(): () => void {
  const end = new AbortController();
  const see = (): void => wake();
  document.addEventListener("visibilitychange", see);
  void (async () => {
    while (!end.signal.aborted) {
      if (!document.hidden) await ask(end.signal);
      const pauseMs = observed.askedMs !== null ? 0 : observed.unreachableMs === null ? EVERY_MS : AWAY_EVERY_MS;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pauseMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  })();
  return () => {
    end.abort();
    document.removeEventListener("visibilitychange", see);
    observed = NOTHING_WRONG;
    link.value = { type: "live" };
  };
}

async function ask(end: AbortSignal): Promise<void> {
  note({ askedMs: observed.askedMs ?? Date.now() });
  const question = new AbortController();
  const stop = (): void => question.abort();
  end.addEventListener("abort", stop);
  const late = setTimeout(() => note({}), PATIENCE_MS + 50);
  const givenUp = setTimeout(stop, GIVE_UP_MS);
  try {
    const response = await fetch("/ready", { cache: "no-store", signal: question.signal });
    const answer = (await response.json().catch(() => null)) as { readonly reason?: string | null } | null;
    const reason = response.ok ? null : (answer?.reason ?? `it answers ${response.status}.`);
    const sinceMs = observed.unready?.sinceMs ?? Date.now();
    // The stream is opened again soon after what it broke off with is over.
    const isBack = observed.unreachableMs !== null && observed.streamCutMs !== null;
    note({
      askedMs: null,
      unreachableMs: null,
      unready: reason === null ? null : { sinceMs, reason },
      ...(isBack ? { streamCutMs: Date.now() } : {}),
    });
  } catch {
    // Given up, it is asked anew: it has not answered since the first time.
    if (question.signal.aborted) return;
    note({ askedMs: null, unready: null, unreachableMs: observed.unreachableMs ?? Date.now() });
  } finally {
    clearTimeout(late);
    clearTimeout(givenUp);
    end.removeEventListener("abort", stop);
  }
}
