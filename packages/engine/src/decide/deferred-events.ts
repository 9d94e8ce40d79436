/** The events that start deferred runs when their run has ended (docs/decisions/0031). */
import { ulidFromSeed } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { environmentOf, plainName } from "@holdfast/store";

import { sha256 } from "../digest.ts";
import type { RunState } from "../run/run-state.ts";
import { withSpan } from "../run/run-trace.ts";
import type { DecideContext } from "./input.ts";
import { DEFERRED_SCHEDULE, type InternalEvent } from "./internal-events.ts";

const NOTHING: readonly never[] = [];

/**
 * The events that begin what a run has deferred. A run that was taken up again after its end has begun it before.
 */
export function deferredEvents(
  state: RunState,
  defers: RunState["defers"],
  { nowMs, spanOf }: Pick<DecideContext, "nowMs" | "spanOf">,
): readonly InternalEvent[] {
  if (defers.size === 0) return NOTHING;
  const ts = Math.round(nowMs);
  const environment = environmentOf(state.functionId);
  return [...defers].flatMap(([key, { status, functionId, inputText, meta }]) => {
    if (status !== "scheduled") return [];
    const id = deferredEventId(state.runId, key);
    const link = {
      fn_slug: functionId,
      parent_app_id: plainName(state.appId),
      parent_fn_id: plainName(state.functionId),
      parent_fn_slug: plainName(state.functionId),
      parent_run_id: state.runId,
      parent_defer_span: "",
    };
    const payload = (): string => {
      const input: unknown = JSON.parse(inputText);
      const data = { ...(isRecord(input) ? input : {}), _inngest: link };
      const event = { id, name: DEFERRED_SCHEDULE, data, ts, user: {}, ...(meta ? { meta } : {}) };
      return withSpan(JSON.stringify(event), spanOf?.(state));
    };
    return [{ id, name: DEFERRED_SCHEDULE, environment, tsMs: ts, payload, ifWanted: false, invokes: null }];
  });
}

/** The same however often the run's end is decided on. */
export function deferredEventId(runId: string, key: string): string {
  const entropy = sha256(`${runId}${key}`).subarray(0, 10);
  return `${runId.slice(0, 10)}${ulidFromSeed(0, entropy, 0).slice(10)}`;
}
