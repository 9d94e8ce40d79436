/** The schedules of functions, as they are stored with their next ticks. Pure. */
import type { Random } from "@holdfast/core";
import { type FunctionSettings, nextTickMs } from "@holdfast/engine";
import type { RegisteredCron } from "@holdfast/store";

export interface CronParts {
  readonly newId: () => string;
  readonly nowMs: () => number;
  readonly random: Random;
}

interface FunctionWithTriggers {
  readonly id: string;
  readonly appId: string;
  readonly settings: Pick<FunctionSettings, "triggers">;
}

/** `triggersOf` gives a function's triggers as they are stored. */
export function cronsOf(
  functions: readonly FunctionWithTriggers[],
  triggersOf: (functionId: string) => string,
  { newId, nowMs, random }: CronParts,
): RegisteredCron[] {
  return functions.flatMap(({ id: functionId, appId, settings }) =>
    settings.triggers.flatMap((trigger): RegisteredCron[] => {
      const tickMs = trigger.type === "cron" ? nextTickMs(trigger.cron, nowMs()) : null;
      if (trigger.type !== "cron" || tickMs === null) return [];
      const { cron, jitterMs } = trigger;
      const dueMs = tickMs + Math.floor(random() * jitterMs);
      return [
        { functionId, appId, cron, jitterMs, tickMs, dueMs, jobId: newId(), triggersJson: triggersOf(functionId) },
      ];
    }),
  );
}
