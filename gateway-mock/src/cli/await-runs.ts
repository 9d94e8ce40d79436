/** Waits until runs have ended, by asking for them. */
import { sleep, systemClock, systemTimers } from "@holdfast/core";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import type { GatewayClient } from "./gateway-client.ts";
import type { Output } from "./output.ts";
import { withProgress } from "./progress.ts";
import { isEnded, type ShownRunDetail } from "./run-text.ts";

const POLL_MS = 250;

export function getRun(client: GatewayClient, id: string, log = false): Promise<ShownRunDetail> {
  return client.get(`/v1/runs/${encodeURIComponent(id)}${log ? "?log=1" : ""}`);
}

/** The runs as they are when all have ended, or when `timeoutMs` is over. */
export function awaitRuns(
  client: GatewayClient,
  ids: readonly string[],
  { output, timeoutMs, log = false }: { output: Output; timeoutMs: number; log?: boolean },
): Promise<readonly ShownRunDetail[]> {
  const endMs = systemClock.monotonicMs() + timeoutMs;
  let open = ids.length;
  const text = (): string => `Waiting for ${open === 1 ? "a run" : `${open} runs`} to end …`;
  return withProgress(output, text, async () => {
    for (;;) {
      const runs = await Promise.all(ids.map((id) => getRun(client, id, log)));
      open = runs.filter((run) => !isEnded(run)).length;
      const leftMs = endMs - systemClock.monotonicMs();
      if (open === 0 || leftMs <= 0) return runs;
      await sleep(systemTimers, Math.min(POLL_MS, leftMs));
    }
  });
}

/** Of runs that were waited for. */
export function exitCodeOfRuns(runs: readonly ShownRunDetail[]): ExitCode {
  return runs.every(({ status }) => status === "COMPLETED") ? EXIT.done : EXIT.otherwise;
}
