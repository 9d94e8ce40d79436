/** How the link to the gateway is, from what the live stream and `/ready` say. Pure. */
import { clockText } from "./clock-text.ts";

export type Link =
  | { readonly type: "live" }
  /** Nothing answers at its address. */
  | { readonly type: "away"; readonly sinceMs: number }
  /** It has been asked, and does not answer. */
  | { readonly type: "silent"; readonly sinceMs: number }
  /** It has been asked and does not answer, but its live stream goes on. */
  | { readonly type: "held"; readonly sinceMs: number }
  /** It answers that it cannot work. */
  | { readonly type: "unready"; readonly sinceMs: number; readonly reason: string }
  /** It answers, and its live stream is broken off. */
  | { readonly type: "cut"; readonly sinceMs: number };

/** Moments since when something is so; null: it is not. */
export interface Observed {
  readonly streamCutMs: number | null;
  readonly unreachableMs: number | null;
  /** When the first of the questions was asked that have no answer. */
  readonly askedMs: number | null;
  /** When its live stream brought something last. */
  readonly heardMs: number | null;
  readonly unready: { readonly sinceMs: number; readonly reason: string } | null;
}

export const NOTHING_WRONG: Observed = {
  ...{ streamCutMs: null, unreachableMs: null, askedMs: null, heardMs: null },
  unready: null,
};

/** An answer takes so long now and then, and no longer. */
export const PATIENCE_MS = 4_000;
/** A stream that is opened again at once is no news. */
const CUT_MS = 4_000;
/** A gateway that is started again is away for a moment. */
const AWAY_MS = 1_000;

/** A live stream brings a sign of the gateway every 15 seconds. */
const STREAM_SILENT_MS = 20_000;

export function linkOf(observed: Observed, nowMs: number): Link {
  const { streamCutMs, unreachableMs, askedMs, heardMs, unready } = observed;
  if (unreachableMs !== null) return { type: "away", sinceMs: Math.min(unreachableMs, streamCutMs ?? unreachableMs) };
  if (askedMs !== null && nowMs - askedMs >= PATIENCE_MS) {
    const isHeard = heardMs !== null && heardMs > askedMs && nowMs - heardMs < STREAM_SILENT_MS;
    return { type: isHeard ? "held" : "silent", sinceMs: askedMs };
  }
  if (unready !== null) return { type: "unready", ...unready };
  return streamCutMs === null ? { type: "live" } : { type: "cut", sinceMs: streamCutMs };
}

/** Whether there is a point in asking it for anything else. */
export const isAnswering = ({ type }: Link): boolean => type !== "away" && type !== "silent";

/** In a word or two. */
export const LINK_WORDS: Readonly<Record<Link["type"], string>> = {
  live: "Live",
  away: "Away",
  silent: "No answer",
  held: "Slow",
  unready: "Not ready",
  cut: "No stream",
};

/** What is wrong, in a sentence; null: nothing, or nothing yet. */
export function linkText(link: Link, nowMs: number): string | null {
  if (link.type === "live") return null;
  const forMs = nowMs - link.sinceMs;
  const since = `since ${clockText(link.sinceMs, nowMs)}`;
  switch (link.type) {
    case "away":
      return forMs < AWAY_MS ? null : `The gateway has been away ${since}.`;
    case "silent":
      return `The gateway has not answered ${since}.`;
    case "held":
      return `Requests have not been answered ${since}, but the live stream goes on: the gateway is busy, or the browser holds requests back because many tabs of it are open.`;
    case "unready":
      return `The gateway has not been ready for work ${since}: ${link.reason}`;
    case "cut":
      return forMs < CUT_MS ? null : `The live stream has been broken off ${since}: what is shown may be late.`;
  }
}

/** What is to be said of it on every page; null as above. */
export function linkNotice(link: Link, nowMs: number): string | null {
  const text = linkText(link, nowMs);
  if (text === null || isAnswering(link)) return text;
  return `${text} What is shown is from before; it is asked again and again.`;
}
