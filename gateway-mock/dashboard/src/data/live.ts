/**
 * One live stream of all runs for the whole page, and for all tabs of the browser: views listen to it. What comes within
 * a frame is given to them together, so that a thousand changes a second are sixty repaints.
 */
import { effect } from "@preact/signals";
import { environment, session } from "./api.ts";
import { followTogether } from "./shared-stream.ts";
import { noteHeard, noteStream, watchLink } from "./watch-link.ts";

/** Message `facts` of a stream. */
export interface Facts {
  readonly runId: string;
  readonly functionId: string;
  readonly atMs: number;
  readonly status: string | null;
  readonly facts: readonly { readonly kind: string; readonly attempt: number }[];
}

type Listener = (changes: readonly Facts[]) => void;
/** Called when something may have been missed: what is shown is to be read anew. */
type Renewal = () => void;

const listeners = new Set<Listener>();
const renewals = new Set<Renewal>();
let waiting: Facts[] = [];
/** More than this at once is no list to go through: views read anew. */
const MAX_WAITING = 5_000;
/** A page that is not seen gets no frames, not even the one that it asked for while it was seen. */
const UNSEEN_MS = 1_000;
let frame = 0;
let unseen: ReturnType<typeof setTimeout> | undefined;

/** Until the returned function is called. */
export function onFacts(listener: Listener, renewal: Renewal): () => void {
  listeners.add(listener);
  renewals.add(renewal);
  return () => {
    listeners.delete(listener);
    renewals.delete(renewal);
  };
}

function take(facts: Facts): void {
  // However many more there are, views read anew.
  if (waiting.length <= MAX_WAITING) waiting.push(facts);
  if (waiting.length > 1) return;
  unseen = setTimeout(give, UNSEEN_MS);
  if (!document.hidden) frame = requestAnimationFrame(give);
}

function give(): void {
  clearTimeout(unseen);
  cancelAnimationFrame(frame);
  const changes = waiting;
  waiting = [];
  if (changes.length > MAX_WAITING) return renew();
  for (const listener of listeners) listener(changes);
}

function renew(): void {
  for (const one of renewals) one();
}

/** Until the returned function is called. */
export function startLive(): () => void {
  let hasBegun = false;
  const dispose = effect(() => {
    // Of another environment it is another stream.
    const scope = session.peek()?.session?.environment ?? environment.value;
    if (hasBegun) renew();
    hasBegun = true;
    let wasAway = false;
    return followTogether(`holdfast-runs ${scope}`, "/v1/runs/stream?limit=0", {
      onHeard: noteHeard,
      onState: (isOpen) => {
        noteStream(isOpen);
        if (isOpen && wasAway) renew();
        wasAway = !isOpen;
      },
      onMessage: ({ event, data }) => {
        if (event === "facts") take(data as Facts);
        else if (event === "reset") renew();
      },
    });
  });
  const unwatch = watchLink();
  return () => {
    dispose();
    unwatch();
  };
}
