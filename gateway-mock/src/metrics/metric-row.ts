/** What a metric is: a row of `metric-table.ts`. */
import type { MetricSources, Reading } from "./metric-sources.ts";

export type MetricKind = "counter" | "gauge" | "histogram";

export interface MetricRow {
  readonly name: string;
  readonly kind: MetricKind;
  readonly help: string;
  readonly labels?: readonly string[];
  readonly read: (sources: MetricSources) => Reading;
}

export const gauge = (name: string, help: string, read: MetricRow["read"], labels?: readonly string[]): MetricRow => ({
  name: `holdfast_${name}`,
  kind: "gauge",
  help,
  read,
  ...(labels ? { labels } : {}),
});
