/** Asks a gateway for one run, and tells what of that passes from what does not. */
import { HoldfastError } from "@holdfast/core";
import { apiBase, type GatewayAccess } from "../events/gateway-access.ts";
import { type FetchWait, lookUpRun, type Run } from "../events/runs.ts";
import type { SendPorts } from "../events/send-http.ts";

/** Between calls that failed. */
export const RETRY = { baseMs: 250, factor: 2, maxMs: 5_000, jitter: 0.5 } as const;
/** After a failover gateways write again what the new server lacks: a run that was there may be away for so long. */
export const MISSING_MS = 30_000;

/** @throws HoldfastError `NOT_FOUND`, `RUNS_UNAVAILABLE` */
export async function seenRun(access: GatewayAccess, id: string, ports: SendPorts, wait?: FetchWait): Promise<Run> {
  const run = await lookUpRun(access, id, ports, wait);
  if (run === "GONE") throw new HoldfastError("NOT_FOUND", `There is no run ${id} (any more) at ${apiBase(access)}.`);
  if (run === "NOWHERE") throw new HoldfastError("RUNS_UNAVAILABLE", `No gateway knows of run ${id} now.`);
  return run;
}

/** The gateway has refused; asking again does not help. */
export function isFinal(error: unknown): boolean {
  return (
    !HoldfastError.is(error) ||
    error.code !== "RUNS_UNAVAILABLE" ||
    /: 4\d\d |rejected the signing key/.test(error.message)
  );
}

export const isMissing = (error: unknown): boolean => HoldfastError.is(error) && error.code === "NOT_FOUND";
