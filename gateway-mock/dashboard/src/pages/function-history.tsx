/** How a function's runs ended in the last hour: how many, how many failed, how long they took. */
import type { JSX } from "preact";
import { countText, durationText } from "../data/format.ts";
import { usePolled } from "../data/polled.ts";
import { BarChart } from "../parts/bar-chart.tsx";

interface Slot {
  readonly atMs: number;
  readonly ended: number;
  readonly failed: number;
  readonly p99Ms: number | null;
}

export function FunctionHistory({ id }: { readonly id: string }): JSX.Element | null {
  const path = `/v1/functions/${encodeURIComponent(id)}/history`;
  const slots = usePolled<{ slots: readonly Slot[] | null }>(path, { everyMs: 10_000, withRuns: true }).value?.slots;
  if (!slots) return null;
  const sum = (name: "ended" | "failed"): number => slots.reduce((all, slot) => all + slot[name], 0);
  const longestMs = Math.max(0, ...slots.map(({ p99Ms }) => p99Ms ?? 0));
  const charts = [
    ["Runs ended", "accent", slots.map(({ ended }) => ended), countText(sum("ended")), "in all"],
    ["Runs failed", "bad", slots.map(({ failed }) => failed), countText(sum("failed")), "in all"],
    [
      "p99, waiting included",
      "wait",
      slots.map(({ p99Ms }) => p99Ms ?? 0),
      longestMs === 0 ? "–" : durationText(longestMs),
      "at most",
    ],
  ] as const;
  return (
    <section aria-labelledby="last-hour">
      <h2 id="last-hour">Last hour</h2>
      <div class="rates">
        {charts.map(([name, tone, values, said, unit]) => (
          <BarChart key={name} {...{ name, tone, values, said, unit }} room={slots.length} least={1} />
        ))}
      </div>
      <p class="list-end">Two minutes a bar, of what this gateway has decided since its start.</p>
    </section>
  );
}
