/** Times as people read them; the exact one is there to be pointed at. */
import type { JSX } from "preact";
import { nowMs } from "../data/clock.ts";
import { agoText, durationText, instantText } from "../data/format.ts";

export function Ago({ atMs }: { readonly atMs: number }): JSX.Element {
  return (
    <time dateTime={new Date(atMs).toISOString()} title={instantText(atMs)}>
      {agoText(atMs, nowMs.value)}
    </time>
  );
}

/** How long something took, or has been going on. */
export function Lasted({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number | null }): JSX.Element {
  return <span class="number">{durationText((toMs ?? nowMs.value) - fromMs)}</span>;
}
