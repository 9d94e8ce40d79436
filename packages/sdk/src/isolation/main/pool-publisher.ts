/** Says on `holdfast:isolation` what happens in a pool; where nothing listens it makes no message. */
import type { Clock } from "@holdfast/core";
import type { IsolationSubject } from "../../diagnostics/channels.ts";
import { channels } from "../../diagnostics/publisher.ts";
import type { PoolEvent } from "../machines/pool-types.ts";
import type { PublishedStep, TurnSubject } from "../shared/isolation-messages.ts";
import type { ThreadCells } from "../shared/thread-cells.ts";

/** Events of the machine that others may listen to. */
export function publishPoolEvent(event: PoolEvent, clock: Clock): void {
  const { isolation } = channels;
  if (!isolation.isHeard || !("id" in event)) return;
  const header = { threadId: event.id, atMs: clock.nowMs() };
  switch (event.type) {
    case "READY":
      return isolation.publish({ ...header, type: "thread-started" });
    case "EXITED":
      return isolation.publish({ ...header, type: "thread-ended", reason: event.reason });
    case "NOT_ENDING":
      return isolation.publish({ ...header, type: "thread-abandoned", reason: event.reason });
    case "LENT":
      return isolation.publish({ ...header, type: "turn-started", subject: null });
    case "FINISHED":
    case "RETURNED":
      return isolation.publish({ ...header, type: "turn-ended" });
    case "CUT":
      return isolation.publish({
        ...header,
        type: "turn-cut",
        reason: event.reason,
        isOverrun: event.why === "overrun",
      });
    default:
      return;
  }
}

export function publishTurnStart(threadId: number, subject: TurnSubject | null, clock: Clock): void {
  if (!channels.isolation.isHeard) return;
  const whose = subject && subjectOf(subject);
  channels.isolation.publish({ type: "turn-started", threadId, atMs: clock.nowMs(), subject: whose });
}

function subjectOf({ requestId, runId, functionSlug, step }: TurnSubject): IsolationSubject {
  return { requestId, runId, functionSlug, stepId: step?.id ?? null };
}

/** Threads look at it before each turn of a handler. */
export function setHeard(cells: Pick<ThreadCells, "setHeard">): void {
  cells.setHeard(channels.stepStart.isHeard || channels.stepEnd.isHeard);
}

/** Of a handler in a thread. */
export function publishStep(step: PublishedStep): void {
  if (step.moment === "start") channels.stepStart.publish(step.message);
  else channels.stepEnd.publish(step.message);
}
