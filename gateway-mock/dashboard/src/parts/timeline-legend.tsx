/** What the bars of a timeline are: of the kinds that it has. */
import type { JSX } from "preact";
import { axisOf } from "../data/time-axis.ts";
import type { BarKind, Timeline } from "../data/timeline.ts";

export const BAR_WORDS: Readonly<Record<BarKind, string>> = {
  queue: "in the queue",
  attempt: "step",
  active: "running now",
  failed: "failed attempt",
  backoff: "waiting to retry",
  lost: "worker lost",
  sleep: "sleep",
  wait: "wait",
};

export function TimelineLegend({ timeline }: { readonly timeline: Timeline }): JSX.Element {
  const kinds = new Set(timeline.tracks.flat().flatMap(({ bars }) => bars.map(({ kind }) => kind)));
  const words = Object.entries(BAR_WORDS).filter(([kind]) => kinds.has(kind as BarKind));
  if (timeline.blocks.length > 0) words.push(["blocked", "main thread blocked"]);
  if (axisOf(timeline).pieces.some(({ isShortened }) => isShortened)) words.push(["shortened", "time not to scale"]);
  return (
    <ul class="legend" aria-label="Legend">
      {words.map(([kind, text]) => (
        <li key={kind}>
          <i class={`swatch ${kind}`} />
          {text}
        </li>
      ))}
    </ul>
  );
}
