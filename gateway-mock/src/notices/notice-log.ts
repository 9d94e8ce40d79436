/**
 * Logs notices, so many in a second; of the others a line says how many there were of what. Thousands of runs in a second
 * cost a number each, so the log never slows the gateway.
 */
import type { Clock, Log, Timers } from "@holdfast/core";
import type { Notice, OnNotice } from "../dispatch/index.ts";
import { type NoticeWords, noticeLine } from "./notice-text.ts";

/** Of what goes as it should, of failures, and of events that started nothing, each. */
const LINES_A_SECOND = 20;
const SECOND_MS = 1_000;

export interface NoticeLogOptions extends NoticeWords {
  readonly log: Log;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Timers;
}

type Counted =
  | "events"
  | "events that started nothing"
  | "runs completed"
  | "runs cancelled"
  | "runs failed"
  | "attempts failed";

export function noticeLog({ log, clock, timers, ...words }: NoticeLogOptions): OnNotice {
  let endsMs = Number.NEGATIVE_INFINITY;
  const left = { routine: 0, failure: 0, unheard: 0 };
  const unsaid = new Map<Counted, number>();

  const begin = (): void => {
    endsMs = clock.monotonicMs() + SECOND_MS;
    left.routine = LINES_A_SECOND;
    left.failure = LINES_A_SECOND;
    left.unheard = LINES_A_SECOND;
  };
  const sumUp = (): void => {
    const counts = Object.fromEntries(unsaid);
    const text = [...unsaid].map(([what, count]) => `${count} ${what}`).join(", ");
    const isBad = unsaid.has("runs failed") || unsaid.has("attempts failed");
    unsaid.clear();
    log(isBad ? "warn" : words.routine, `And ${text}, too many to list`, counts);
  };

  return (notice) => {
    const [what, kind] = countedAs(notice);
    if (clock.monotonicMs() >= endsMs) begin();
    if (left[kind] > 0) {
      left[kind] -= 1;
      const { level, message, data } = noticeLine(notice, words);
      return log(level, message, data);
    }
    if (unsaid.size === 0) timers.set(SECOND_MS, sumUp, { unref: true });
    unsaid.set(what, (unsaid.get(what) ?? 0) + 1);
  };
}

function countedAs(notice: Notice): readonly [Counted, "routine" | "failure" | "unheard"] {
  if (notice.type === "EVENT_STORED") {
    const { functionIds, isAwaited, isCollected, skippedBy } = notice;
    const isUnheard = functionIds.length === 0 && !isAwaited && !isCollected && skippedBy.length === 0;
    return isUnheard ? ["events that started nothing", "unheard"] : ["events", "routine"];
  }
  if (notice.type === "ATTEMPT_FAILED") return ["attempts failed", "failure"];
  switch (notice.status) {
    case "COMPLETED":
      return ["runs completed", "routine"];
    case "CANCELLED":
      return ["runs cancelled", "routine"];
    case "FAILED":
      return ["runs failed", "failure"];
  }
}
