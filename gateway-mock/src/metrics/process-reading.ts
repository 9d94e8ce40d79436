/** What the process of a gateway costs: memory, CPU, how late its event loop is. */
import type { IntervalHistogram } from "node:perf_hooks";

/** How often the event loop's delay is sampled; Node counts the interval itself into each sample. */
export const DELAY_RESOLUTION_MS = 10;

export interface ProcessReading {
  readonly pid: number;
  readonly uptimeMs: number;
  readonly rssBytes: number;
  readonly heapUsedBytes: number;
  readonly cpuSeconds: number;
  /** Sockets of workers, those included that are not accepted yet. */
  readonly sockets: number;
  readonly eventLoopDelayMs: {
    readonly mean: number;
    readonly p50: number;
    readonly p99: number;
    readonly max: number;
  };
}

export function readProcess(
  delay: Pick<IntervalHistogram, "mean" | "max" | "percentile">,
  sockets: number,
): ProcessReading {
  const { user, system } = process.cpuUsage();
  const ms = (nanos: number): number =>
    Number.isFinite(nanos) ? Math.max(0, Math.round(nanos / 1e4 - DELAY_RESOLUTION_MS * 100) / 100) : 0;
  return {
    pid: process.pid,
    uptimeMs: Math.round(process.uptime() * 1000),
    cpuSeconds: (user + system) / 1e6,
    rssBytes: process.memoryUsage.rss(),
    heapUsedBytes: process.memoryUsage().heapUsed,
    sockets,
    eventLoopDelayMs: {
      mean: ms(delay.mean),
      p50: ms(delay.percentile(50)),
      p99: ms(delay.percentile(99)),
      max: ms(delay.max),
    },
  };
}
