import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { METRICS } from "../../src/metrics/metric-table.ts";
import { ended, start, useGateway } from "./harness.ts";

const bench = useGateway();

interface Scrape {
  readonly kinds: ReadonlyMap<string, string>;
  readonly samples: ReadonlyMap<string, number>;
}

const SAMPLE = /^([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*\})? (NaN|[+-]Inf|[-+]?[\d.]+(?:e[-+]?\d+)?)$/;

/** Reads the text format, and refuses what is not in it. */
async function scrape(url: string): Promise<Scrape> {
  const answer = await fetch(`${url}/metrics`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const kinds = new Map<string, string>();
  const samples = new Map<string, number>();
  for (const line of (await answer.text()).split("\n")) {
    if (line === "" || line.startsWith("# HELP ")) continue;
    const [, kindOf, kind] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (kindOf !== undefined && kind !== undefined) {
      expect(kinds.has(kindOf)).toBe(false);
      kinds.set(kindOf, kind);
      continue;
    }
    const [, name, labels = "", value] = SAMPLE.exec(line) ?? [];
    if (name === undefined) throw new Error(`This is no sample: ${line}`);
    expect(samples.has(name + labels)).toBe(false);
    samples.set(name + labels, Number(value));
  }
  return { kinds, samples };
}

test("Prometheus reads every metric of the table, with what has happened", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  await worker.replied(request, { status: "DONE", value: 1 });
  await ended(gateway, runId);
  worker.send({ kind: "WORKER_HEARTBEAT" });
  await waitFor(
    async () => (await scrape(gateway.url)).samples.has('holdfast_frames_received_total{kind="WORKER_HEARTBEAT"}'),
    {
      what: "a heartbeat to be counted",
    },
  );
  const { kinds, samples } = await scrape(gateway.url);
  expect([...kinds].toSorted()).toEqual(METRICS.map(({ name, kind }) => [name, kind]).toSorted());
  const about = [...samples.keys()].find(
    (name) => name.startsWith("holdfast_runs_ended_total") && name.includes("COMPLETED"),
  );
  const labels = /function="[^"]+",environment="[^"]*"/.exec(about ?? "")?.[0] ?? "";
  expect(Object.fromEntries(samples)).toMatchObject({
    holdfast_workers: 1,
    holdfast_events_received_total: 1,
    holdfast_runs_created_total: 1,
    holdfast_database_up: 1,
    holdfast_draining: 0,
    'holdfast_queue_jobs{state="due"}': 0,
    holdfast_queue_oldest_due_seconds: 0,
    holdfast_queue_lanes: 0,
    'holdfast_spans_total{outcome="recorded"}': 0,
    [`holdfast_runs_ended_total{${labels},status="COMPLETED"}`]: 1,
    [`holdfast_runs_ended_total{${labels},status="FAILED"}`]: 0,
    [`holdfast_run_duration_seconds_count{${labels}}`]: 1,
    [`holdfast_run_duration_seconds_bucket{${labels},le="+Inf"}`]: 1,
  });
  expect(samples.get('holdfast_table_bytes{table="runs"}')).toBeGreaterThan(0);
  expect(samples.get('holdfast_table_oldest_seconds{table="runs"}')).toBeGreaterThanOrEqual(0);
  expect(samples.get("holdfast_commit_duration_seconds_count")).toBe(samples.get("holdfast_commits_total"));
  expect(samples.get('holdfast_commit_units_bucket{le="+Inf"}')).toBe(samples.get("holdfast_commits_total"));
});

test("steps, failed attempts and failed runs are counted by function", async () => {
  const gateway = await bench.gateway({ retryBaseMs: 1 });
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const { request } = await worker.request();
    const value = { name: "Error", message: "no luck" };
    await worker.replied(request, { status: "ERROR", value, noRetry: attempt === 2 });
  }
  expect((await ended(gateway, runId)).status).toBe("FAILED");
  const { samples } = await scrape(gateway.url);
  const of = (name: string, label: string): number | undefined =>
    [...samples].find(([sample]) => sample.startsWith(`${name}{`) && sample.includes(label))?.[1];
  expect(of("holdfast_failed_attempts_total", 'of="handler"')).toBe(2);
  expect(of("holdfast_runs_ended_total", 'status="FAILED"')).toBe(1);
});

test("the alerts and the board name only metrics that there are", () => {
  const names = new Set(
    METRICS.flatMap(({ name, kind }) =>
      kind === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
  for (const file of ["alerts.yml", "grafana-board.json"]) {
    const used = [...new Set(monitoring(file).match(/\b(?:holdfast|process|nodejs)_[a-z_]+\b/g))].filter(
      (name) => name !== "holdfast_gateway",
    );
    expect(used.length).toBeGreaterThan(5);
    expect(used.filter((name) => !names.has(name))).toEqual([]);
  }
});

test("the alerts and the board ask for no label, and no value of a state, that the metric does not have", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  await worker.replied(request, { status: "DONE", value: 1 });
  await ended(gateway, runId);
  const samples = [...(await scrape(gateway.url)).samples.keys()];
  const ofMetric = (name: string): string[] => samples.filter((one) => one.replace(/\{.*/, "") === name);
  /** What Prometheus adds to each sample. */
  const added = ["instance", "job"];
  const unknown: string[] = [];
  let looked = 0;
  for (const expression of expressions()) {
    const names = expression.match(/\bholdfast_[a-z_]+\b/g) ?? [];
    const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = ""]) => labels.split(/, */));
    for (const label of grouped.filter((one) => !added.includes(one))) {
      looked += 1;
      const has = names.some((name) => ofMetric(name).some((one) => one.includes(`${label}="`)));
      if (!has) unknown.push(`${label} in ${expression}`);
    }
    for (const [, name = "", conditions = ""] of expression.matchAll(/\b(holdfast_[a-z_]+)\{([^}]*)\}/g)) {
      for (const [, label = "", operator, value] of conditions.matchAll(/([a-z_]+)(=~|=)"([^"]*)"/g)) {
        looked += 1;
        const wanted = operator === "=" ? `${label}="${value}"` : `${label}="`;
        if (!added.includes(label) && !ofMetric(name).some((one) => one.includes(wanted)))
          unknown.push(`${wanted} in ${expression}`);
      }
    }
  }
  expect(unknown).toEqual([]);
  expect(looked).toBeGreaterThan(10);
});

const monitoring = (file: string): string =>
  readFileSync(fileURLToPath(new URL(`../../monitoring/${file}`, import.meta.url)), "utf8");

/** Of every alert and every panel. */
function expressions(): string[] {
  const alerts = [...monitoring("alerts.yml").matchAll(/^ {8}expr: (?:>\n((?: {10}.*\n)+)|(.*)\n)/gm)];
  const { panels } = JSON.parse(monitoring("grafana-board.json")) as { panels: { targets: { expr: string }[] }[] };
  return [
    ...alerts.map(([, block, line]) => (block ?? line ?? "").trim()),
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ];
}
