/** What this process uses, all of its threads. */
import type { ProcessState } from "@holdfast/protocol";

export function readProcessState(): ProcessState {
  const { user, system } = process.cpuUsage();
  return {
    pid: process.pid,
    rssBytes: process.memoryUsage.rss(),
    cpuMs: (user + system) / 1000,
    uptimeMs: process.uptime() * 1000,
  };
}
