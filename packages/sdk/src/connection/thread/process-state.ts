/** What this process uses, all of its threads. */
import type { Clock } from "@holdfast/core";
import type { ProcessState } from "@holdfast/protocol";
import type { ConnectionThreadData } from "../shared/connection-thread-data.ts";

/** Since when the process runs main says: on Bun and Deno a thread knows that only of itself. */
export function createProcessState(
  { started, uptimeMs }: ConnectionThreadData,
  clock: Pick<Clock, "monotonicMs">,
): () => ProcessState {
  return () => {
    const { user, system } = process.cpuUsage();
    return {
      pid: process.pid,
      rssBytes: process.memoryUsage.rss(),
      cpuMs: (user + system) / 1000,
      uptimeMs: uptimeMs + clock.monotonicMs() - started.monotonicMs,
    };
  };
}
