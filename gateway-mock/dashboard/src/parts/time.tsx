/** Times as people read them; the exact one is there to be pointed at. */
import type { JSX } from "preact";
import { nowMs } from "../data/clock.ts";
import { agoText, durationText, expectedText, instantText } from "../data/format.ts";

export function Ago({ atMs }: { readonly atMs: number }): JSX.Element {
  return (
    <time dateTime={new Date(atMs).toISOString()} title={instantText(atMs)}>
      {agoText(atMs, nowMs.value)}
    </time>
  );
}

/** When it is to happen, `what` said before it where it is not late. */
export function Expected({ what, atMs }: { readonly what: string; readonly atMs: number }): JSX.Element {
  return (
    <time dateTime={new Date(atMs).toISOString()} title={instantText(atMs)}>
      {expectedText(what, atMs, nowMs.value)}
    </time>
  );
}

/** How long something took, or has been going on. */
export function Lasted({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number | null }): JSX.Element {
  return <span class="number">{durationText((toMs ?? nowMs.value) - fromMs)}</span>;
}
