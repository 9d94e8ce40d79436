/** What a line of an export says of its run, for runs that could not be replayed to their end. */
import { isRecord } from "@holdfast/protocol";
import type { ReplayResult } from "./replay-messages.ts";

export function readRunHead(line: string): Omit<ReplayResult, "divergence" | "next"> {
  const value: unknown = JSON.parse(line);
  const run = isRecord(value) && isRecord(value.run) ? value.run : {};
  const { id, functionId, appVersion, status, log } = run;
  const facts: readonly unknown[] = Array.isArray(log) ? log : [];
  const steps = facts.flatMap((fact) =>
    isRecord(fact) && String(fact.kind).startsWith("STEP_") ? [String(fact.key)] : [],
  );
  return {
    runId: String(id),
    functionId: String(functionId),
    appVersion: String(appVersion),
    status: String(status),
    steps: new Set(steps).size,
  };
}
