/** A run that failed or was cancelled goes on, with the newest version and its options (docs/decisions/0081). */
import { cancelWaits } from "../flow/cancel-rules.ts";
import { jsonRow, type PinMeta, type RevivalMeta } from "../run/log-rows.ts";
import { DEADLINE, FINISH_TIMEOUT, type RunState } from "../run/run-state.ts";
import { type Decision, dispatch, draftOf, ensurePass, finish } from "./draft.ts";
import type { DecideContext, Input } from "./input.ts";

/** Null when the run has changed since its log was read, or has not ended badly. */
export function resume(
  state: RunState,
  input: Extract<Input, { type: "resume" }>,
  ctx: DecideContext,
): Decision | null {
  if (state.status !== "FAILED" && state.status !== "CANCELLED") return null;
  if (state.version !== input.headVersion) return null;
  const { maxAttempts, deadlineInMs, finishInMs, cancelRules } = input.options;
  const draft = draftOf(state, ctx);
  const waits = cancelWaits(state, cancelRules, (one, of) => ctx.waitMatch(one, state.eventText, of), ctx.nowMs);
  const deadlineMs = deadlineInMs === null ? null : ctx.nowMs + deadlineInMs;
  const pin: PinMeta = {
    version: input.appVersion,
    maxAttempts,
    deadlineMs,
    finishInMs,
    cancels: waits.map(({ key }) => key),
  };
  const meta: RevivalMeta = { dropped: input.dropped, pin };
  draft.log.push(jsonRow("RUN_REVIVED", "", 0, state.revivals + 1, meta));
  for (const wait of waits) {
    draft.waits.add(wait.key);
    draft.addedWaits.push(wait);
  }
  ensurePass(draft);
  if (deadlineMs !== null) dispatch(draft, { kind: "timer", key: DEADLINE, attempt: 0, untilMs: deadlineMs });
  // It counts from the run's start: the first time that it is due it may be long past, and the run has its time again.
  if (finishInMs !== null) dispatch(draft, { kind: "timer", key: FINISH_TIMEOUT, attempt: 0, delayMs: finishInMs });
  const decision = finish(draft);
  return { ...decision, head: { ...decision.head, appVersion: input.appVersion, deadlineMs }, revives: true };
}
