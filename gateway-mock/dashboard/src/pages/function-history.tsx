/** How a function's runs ended in the last hour, as far as the gateway has counted: how many failed, how long they took. */
import { isUlid, ulidTimeMs } from "@holdfast/core";
import type { JSX } from "preact";
import { gatewayNowMs } from "../data/api.ts";
import { clockText } from "../data/clock-text.ts";
import { countText, durationText } from "../data/format.ts";
import { usePolled } from "../data/polled.ts";
import { BarChart } from "../parts/bar-chart.tsx";

interface Slot {
  readonly atMs: number;
  readonly ended: number;
  readonly failed: number;
  readonly p99Ms: number | null;
}

interface History {
  /** Made as the gateway starts, with the time in it. */
  readonly gatewayId: string;
  readonly slots: readonly Slot[] | null;
}

const HOUR_MS = 3_600_000;

export function FunctionHistory({ id }: { readonly id: string }): JSX.Element | null {
  const path = `/v1/functions/${encodeURIComponent(id)}/history`;
  const { gatewayId = "", slots } = usePolled<History>(path, { everyMs: 10_000, withRuns: true }).value ?? {};
  if (!slots) return null;
  const startMs = isUlid(gatewayId) ? ulidTimeMs(gatewayId) : 0;
  const since = gatewayNowMs() - startMs < HOUR_MS ? `since ${clockText(startMs)}` : null;
  const sum = (name: "ended" | "failed"): number => slots.reduce((all, slot) => all + slot[name], 0);
  const longestMs = Math.max(0, ...slots.map(({ p99Ms }) => p99Ms ?? 0));
  const charts = [
    ["Runs ended", "accent", slots.map(({ ended }) => ended), countText(sum("ended")), since ?? "in all"],
    ["Runs failed", "bad", slots.map(({ failed }) => failed), countText(sum("failed")), since ?? "in all"],
    [
      "p99, waiting included",
      "wait",
      slots.map(({ p99Ms }) => p99Ms ?? 0),
      longestMs === 0 ? "–" : durationText(longestMs),
      since === null ? "at most" : `at most, ${since}`,
    ],
  ] as const;
  return (
    <section aria-labelledby="last-hour">
      <h2 id="last-hour">{since === null ? "Last hour" : `Last hour, counted ${since}`}</h2>
      <div class="rates">
        {charts.map(([name, tone, values, said, unit]) => (
          <BarChart key={name} {...{ name, tone, values, said, unit }} room={slots.length} least={1} />
        ))}
      </div>
      <p class="list-end">Two minutes a bar, of what this gateway has decided since its start.</p>
    </section>
  );
}
