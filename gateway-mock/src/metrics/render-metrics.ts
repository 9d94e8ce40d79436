/** Writes a reading of all metrics in the text format of Prometheus; the library that does it is loaded at the first one. */
import { type HistogramCounts, unreachable } from "@holdfast/core";
import type { MetricRow } from "./metric-row.ts";
import type { Labelled, MetricSources, Reading } from "./metric-sources.ts";
import { METRICS } from "./metric-table.ts";

export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Metrics that are not known just now are left out. */
export async function renderMetrics(sources: MetricSources): Promise<string> {
  const library = await import("prom-client");
  const { Counter, Gauge, Registry } = library;
  const registry = new Registry();
  const registers = [registry];
  for (const row of METRICS) {
    const reading = row.read(sources);
    if (reading === null) continue;
    const { name, help, kind } = row;
    const labelNames = [...(row.labels ?? [])];
    switch (kind) {
      case "counter": {
        const counter = new Counter({ name, help, labelNames, registers });
        for (const { labels, value } of numbersOf(row, reading)) counter.inc(labels, value);
        break;
      }
      case "gauge": {
        const gauge = new Gauge({ name, help, labelNames, registers });
        for (const { labels, value } of numbersOf(row, reading)) gauge.set(labels, value);
        break;
      }
      case "histogram":
        addHistogram(library, { name, help, labelNames, registers }, countsOf(row, reading));
        break;
      default:
        return unreachable(kind);
    }
  }
  return registry.metrics();
}

type Library = typeof import("prom-client");

/** The library counts what it is shown; these were counted where they happened. */
function addHistogram(
  { Histogram }: Library,
  about: ConstructorParameters<Library["Histogram"]>[0],
  all: readonly Labelled<HistogramCounts>[],
): void {
  class Counted extends Histogram {
    /** What a registry asks for. */
    async getForPromString(): ReturnType<InstanceType<Library["Histogram"]>["get"]> {
      const blank = await new Histogram({ ...about, registers: [] }).get();
      return { ...blank, values: all.flatMap((one) => linesOf(about.name, one)) };
    }
  }
  new Counted(about);
}

/** Buckets are cumulative. */
function linesOf(name: string, { labels, value: { bounds, counts, sum, count } }: Labelled<HistogramCounts>) {
  const metricName = `${name}_bucket`;
  let below = 0;
  const buckets = bounds.map((le, n) => {
    below += counts[n] ?? 0;
    return { metricName, labels: { ...labels, le }, value: below };
  });
  return [
    ...buckets,
    { metricName, labels: { ...labels, le: "+Inf" }, value: count },
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}

function numbersOf({ name }: MetricRow, reading: Exclude<Reading, null>): readonly Labelled<number>[] {
  return listOf(reading).map(({ labels, value }) => {
    if (typeof value === "number") return { labels, value };
    throw new TypeError(`${name} is a distribution.`);
  });
}

function countsOf({ name }: MetricRow, reading: Exclude<Reading, null>): readonly Labelled<HistogramCounts>[] {
  return listOf(reading).map(({ labels, value }) => {
    if (typeof value !== "number") return { labels, value };
    throw new TypeError(`${name} is no distribution.`);
  });
}

function listOf(reading: Exclude<Reading, null>): readonly Labelled<number | HistogramCounts>[] {
  return isList(reading) ? reading : [{ labels: {}, value: reading }];
}

const isList = (reading: Reading): reading is readonly Labelled<number>[] | readonly Labelled<HistogramCounts>[] =>
  Array.isArray(reading);
