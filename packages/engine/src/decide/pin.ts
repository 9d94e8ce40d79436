/** Writes down the version that a run begins with, and the options of that version (docs/decisions/0032). */
import { cancelKey, cancelWaits } from "../flow/cancel-rules.ts";
import { jsonRow, type PinMeta } from "../run/log-rows.ts";
import { DEADLINE, FINISH_TIMEOUT, jobKey } from "../run/run-state.ts";
import { type Decision, type Draft, dispatch, dropJob, dropWait, finish } from "./draft.ts";
import type { Input } from "./input.ts";

/** Another version than the one it was made for starts the run: from now on it has the options of that one. */
export function pin(draft: Draft, { version, options }: Extract<Input, { type: "pin" }>): Decision {
  const { state, ctx } = draft;
  const { maxAttempts, deadlineInMs, finishInMs, cancelRules } = options;
  // Until it starts its first pass is due since it was made, or since its event lets it start.
  const beginMs = draft.jobs.get("pass")?.dueMs ?? ctx.nowMs;
  const ofVersion = deadlineInMs === null ? null : beginMs + deadlineInMs;
  const deadlineMs = state.deadlineAsked ? state.deadlineMs : ofVersion;
  const waits =
    cancelRules && cancelWaits(state, cancelRules, (one, of) => ctx.waitMatch(one, state.eventText, of), ctx.nowMs);
  const isMoved = deadlineMs !== state.deadlineMs;
  const meta: PinMeta = {
    version,
    maxAttempts,
    ...(isMoved ? { deadlineMs } : {}),
    ...(finishInMs === state.finishMs ? {} : { finishInMs }),
    ...(waits ? { cancels: waits.map(({ key }) => key) } : {}),
  };
  draft.log.push(jsonRow("PINNED", "", 0, 0, meta));
  if (isMoved) setTimer(draft, DEADLINE, deadlineMs);
  if (finishInMs !== state.finishMs) setTimer(draft, FINISH_TIMEOUT, finishInMs === null ? null : beginMs + finishInMs);
  if (waits) {
    for (const key of state.waits) if (key.startsWith(cancelKey(""))) dropWait(draft, key);
    for (const wait of waits) {
      draft.waits.add(wait.key);
      draft.addedWaits.push(wait);
    }
  }
  const decision = finish(draft);
  return { ...decision, head: { ...decision.head, appVersion: version, ...(isMoved ? { deadlineMs } : {}) } };
}

function setTimer(draft: Draft, key: string, atMs: number | null): void {
  dropJob(draft, jobKey("timer", key));
  if (atMs !== null) dispatch(draft, { kind: "timer", key, attempt: 0, untilMs: atMs });
}
