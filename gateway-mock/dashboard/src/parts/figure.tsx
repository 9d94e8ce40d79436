/** Numbers that are read at a glance, each with its name. */
import type { JSX } from "preact";
import { durationText } from "../data/format.ts";
import type { RunStats } from "../data/stats.ts";

interface FigureProps {
  readonly name: string;
  readonly value: string;
  readonly isBad?: boolean;
}

export function Figure({ name, value, isBad = false }: FigureProps): JSX.Element {
  return (
    <div class="card figure">
      <dt>{name}</dt>
      <dd class={isBad ? "error-note" : undefined}>{value}</dd>
    </div>
  );
}

/** How long runs took, and how long they waited before they began. */
export function TimeFigures({ stats: { tookMs, queuedMs } }: { readonly stats: RunStats }): JSX.Element {
  return (
    <>
      <Figure name="duration, p50" value={lengthText(tookMs?.p50)} />
      <Figure name="duration, p99" value={lengthText(tookMs?.p99)} />
      <Figure name="time in queue, p50" value={lengthText(queuedMs?.p50)} />
      <Figure name="time in queue, p99" value={lengthText(queuedMs?.p99)} />
    </>
  );
}

const lengthText = (ms: number | undefined): string => (ms === undefined ? "–" : durationText(ms));
