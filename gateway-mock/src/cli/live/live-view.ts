/** Draws the status area of `dev`: looks at the gateway each second, while there is a terminal to show it. */
import { systemClock, systemTimers, type TimerHandle } from "@holdfast/core";
import type { Overview } from "../../gateway-overview.ts";
import type { StatusArea } from "./status-area.ts";
import { type Seen, statusLines } from "./status-lines.ts";

const EVERY_MS = 1_000;

export interface LiveTerminal {
  readonly columns?: number | undefined;
  on(event: "resize", listener: () => void): unknown;
  off(event: "resize", listener: () => void): unknown;
}

/** What is shown is what `look` says; what it throws is that the database is away. Returns what ends it. */
export function startLiveView(area: StatusArea, terminal: LiveTerminal, look: () => Promise<Overview>): () => void {
  let seen: Seen | undefined;
  let isOver = false;
  let timer: TimerHandle | null = null;
  const draw = (isResized = false): void => {
    if (isOver || seen === undefined) return;
    area.show(statusLines(seen, { columns: terminal.columns ?? 80, colours: true }), isResized);
  };
  const onResize = (): void => draw(true);
  const tick = async (): Promise<void> => {
    const beganMs = systemClock.monotonicMs();
    seen = await look().catch(() => null);
    if (isOver) return;
    draw();
    // A database that is slow is asked more rarely.
    const tookMs = systemClock.monotonicMs() - beganMs;
    timer = systemTimers.set(Math.max(EVERY_MS, 5 * tookMs), () => void tick(), { unref: true });
  };
  terminal.on("resize", onResize);
  void tick();
  return () => {
    isOver = true;
    timer?.cancel();
    terminal.off("resize", onResize);
    area.end();
  };
}
