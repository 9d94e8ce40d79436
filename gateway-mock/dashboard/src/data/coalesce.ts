/**
 * Reads something anew when it has changed: at once when at rest, and under many changes one read after the other, with
 * pauses that grow with what a read takes. So no change is left out, and none is read a thousand times.
 */
export interface Renewal {
  readonly ask: () => void;
  readonly end: () => void;
}

const LEAST_PAUSE_MS = 120;

export function renewal(read: () => Promise<void>): Renewal {
  let isReading = false;
  let isAsked = false;
  let isOver = false;
  const run = async (): Promise<void> => {
    isReading = true;
    while (isAsked && !isOver) {
      isAsked = false;
      const start = performance.now();
      await read();
      const pauseMs = Math.max(LEAST_PAUSE_MS, 3 * (performance.now() - start));
      if (!isOver) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    isReading = false;
  };
  return {
    ask: () => {
      isAsked = true;
      if (!isReading) void run();
    },
    end: () => {
      isOver = true;
    },
  };
}
