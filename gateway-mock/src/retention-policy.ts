/** How long runs of each function are kept: what the gateway was started with, and what functions ask for. Pure. */
import type { FunctionRetention } from "@holdfast/engine";
import type { Retention, RetentionPolicy } from "@holdfast/store";
import type { GatewayConfig } from "./config/config.ts";

export type ConfiguredRetention = Pick<GatewayConfig, "retentionCompletedMs" | "retentionFailedMs">;

interface RetainedFunction {
  readonly id: string;
  readonly settings: { readonly retention: FunctionRetention };
}

const endOf = (period: number | "off"): number | null => (period === "off" ? null : period);

export function retentionPolicy(config: ConfiguredRetention, functions: Iterable<RetainedFunction>): RetentionPolicy {
  const all: Retention = {
    completedMs: endOf(config.retentionCompletedMs),
    failedMs: endOf(config.retentionFailedMs),
  };
  const own = [...functions].flatMap(({ id, settings: { retention } }) =>
    Object.keys(retention).length === 0 ? [] : [[id, { ...all, ...retention }] as const],
  );
  return { ...all, functions: new Map(own) };
}

/** Instead of the periods of every function of one environment; what is left out stays. */
export interface PeriodOverride {
  readonly completedMs?: number | null;
  readonly failedMs?: number | null;
}

/** `own`: the functions of the environment, `all`: whether there are no others, so that events go by it, too. */
export function overridden(
  policy: RetentionPolicy,
  override: PeriodOverride,
  { own, all }: { readonly own: Iterable<string>; readonly all: boolean },
): RetentionPolicy {
  const { completedMs, failedMs, functions } = policy;
  const changed = [...own].map(
    (id) => [id, { ...(functions.get(id) ?? { completedMs, failedMs }), ...override }] as const,
  );
  return { ...policy, ...(all ? override : {}), functions: new Map([...functions, ...changed]) };
}
