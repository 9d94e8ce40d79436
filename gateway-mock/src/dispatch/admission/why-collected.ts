/** Why an event has started no run of a function yet that collects events first, in one sentence for people. Pure. */
import { type OpenWindow, plainName } from "@holdfast/store";
import { plural, quoted, spanText } from "./waiting-text.ts";

/** As the API shows it. */
export interface CollectedEvent {
  readonly functionId: string;
  readonly reason: "DEBOUNCED" | "BATCHED";
  readonly message: string;
  /** When the run starts if nothing else comes. */
  readonly untilMs: number;
}

export interface CollectedFacts {
  readonly window: OpenWindow;
  /** Of a batch: how many events it takes. */
  readonly maxSize: number | null;
  /** The database's time. */
  readonly nowMs: number;
}

export function whyCollected({ window, maxSize, nowMs }: CollectedFacts): CollectedEvent {
  const { kind, functionId, count, dueInMs } = window;
  const plain = plainName(functionId);
  const run = `a run of "${quoted(plain)}"`;
  const when = dueInMs === 0 ? "now" : `in ${spanText(dueInMs)}`;
  const of = { functionId: plain, untilMs: nowMs + dueInMs };
  if (kind === "debounce") {
    const others = count > 1 ? `, in place of ${plural(count - 1, "event")} before it` : "";
    const message = `It starts ${run} ${when}${others}, unless another event comes first (\`debounce\`).`;
    return { ...of, reason: "DEBOUNCED", message };
  }
  const full = maxSize === null ? "" : ` of at most ${maxSize}`;
  const soon = kind === "full" ? "now, with all of them" : `${when}, or when they are as many`;
  const message = `It is collected with ${plural(count - 1, "other event")}${full}: ${run} starts ${soon} (\`batchEvents\`).`;
  return { ...of, reason: "BATCHED", message };
}
