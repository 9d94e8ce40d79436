/** Waits until runs have ended: the gateway answers once they have. */
import { HoldfastError, sleep, systemClock, systemTimers } from "@holdfast/core";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import type { GatewayClient } from "./gateway-client.ts";
import type { Output } from "./output.ts";
import { withProgress } from "./progress.ts";
import { isEnded, type ShownRunDetail } from "./run-text.ts";

/** What a gateway waits at a time; a call may take 30 s. */
const WAIT_MS = 20_000;
/** Before a gateway that shuts down, or one that knows no waiting, is asked again. */
const PAUSE_MS = 250;

export function getRun(client: GatewayClient, id: string, log = false, waitMs = 0): Promise<ShownRunDetail> {
  const query = new URLSearchParams({ ...(log ? { log: "1" } : {}), ...(waitMs > 0 ? { wait: String(waitMs) } : {}) });
  return client.get(`/v1/runs/${encodeURIComponent(id)}${query.size > 0 ? `?${query}` : ""}`);
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
  const awaitRun = async (id: string): Promise<ShownRunDetail> => {
    for (;;) {
      const askedMs = systemClock.monotonicMs();
      const waitMs = Math.round(Math.max(1, Math.min(WAIT_MS, endMs - askedMs)));
      const run = await getRun(client, id, log, waitMs).catch(unlessClosing);
      if (run && isEnded(run)) {
        open -= 1;
        return run;
      }
      if (run && systemClock.monotonicMs() >= endMs) return run;
      const early = waitMs - (systemClock.monotonicMs() - askedMs);
      if (early > 0) await sleep(systemTimers, Math.min(PAUSE_MS, early));
    }
  };
  return withProgress(output, text, () => Promise.all(ids.map(awaitRun)));
}

/** Null: another gateway, or this one once it is back, is to be asked. */
function unlessClosing(error: unknown): null {
  if (HoldfastError.is(error) && error.code === "GATEWAY_CLOSING") return null;
  throw error;
}

/** Of runs that were waited for. */
export function exitCodeOfRuns(runs: readonly ShownRunDetail[]): ExitCode {
  return runs.every(({ status }) => status === "COMPLETED") ? EXIT.done : EXIT.otherwise;
}
