/** Metrics of what workers say of themselves, by app. */
import type { AppWorkersState } from "../dispatch/index.ts";
import { gauge, type MetricRow } from "./metric-row.ts";

/** Of workers that say how they are; one with several apps counts for the first one. */
const ofApps = (metric: string, help: string, numberOf: (app: AppWorkersState) => number): MetricRow =>
  gauge(
    metric,
    help,
    ({ workers }) =>
      workers.map((one) => ({
        labels: { app: one.app, environment: one.environment },
        value: numberOf(one),
      })),
    ["app", "environment"],
  );

export const WORKERS: readonly MetricRow[] = [
  ofApps(
    "main_lag_seconds",
    "How long the main thread has been blocked, of the worker that has been blocked the longest; 0 when none is.",
    ({ mainLagMs }) => mainLagMs / 1000,
  ),
  ofApps("pool_threads", "Threads for isolated code that workers have.", ({ isolation }) => isolation.threads),
  ofApps("pool_threads_busy", "Threads of these that have a turn.", ({ isolation }) => isolation.busy),
  ofApps("pool_turns_queued", "Turns that wait for such a thread.", ({ isolation }) => isolation.queued),
  ofApps(
    "pool_oldest_turn_seconds",
    "Age of the oldest turn, waiting or running; 0 when there is none.",
    ({ isolation }) => (isolation.oldestMs ?? 0) / 1000,
  ),
];
