/**
 * What is to happen once the code that runs now, or all that follows from it at once, is over. What all passes of a
 * process ask for together is one microtask or one tick: each takes an async resource of its own, which costs as much
 * as a small step. Both are the runtime's own, whatever fake timers a test has installed since (`clock.ts` of the core).
 */

const { queueMicrotask } = globalThis;
const nextTick = globalThis.process?.nextTick;

type Act = () => void;

let soon: Act[] = [];
let later: Act[] = [];

/** Runs `act` when the code that runs now is over. In whose async context is not said. */
export function inMicrotask(act: Act): void {
  soon.push(act);
  if (soon.length === 1) queueMicrotask(runSoon);
}

/** Runs `act` once all microtasks that are due, and those they make, have run. In whose async context is not said. */
export function afterMicrotasks(act: Act): void {
  later.push(act);
  // The queue of ticks is looked at when the queue of microtasks is empty; asking from a microtask makes that so.
  if (later.length === 1) queueMicrotask(askForTick);
}

function runSoon(): void {
  const acts = soon;
  soon = [];
  runAll(acts, 0);
}

function askForTick(): void {
  const acts = later;
  later = [];
  nextTick(runAll, acts, 0);
}

/** One that throws does not keep the others from running. */
function runAll(acts: readonly Act[], from: number): void {
  let next = from;
  try {
    while (next < acts.length) {
      next += 1;
      acts[next - 1]?.();
    }
  } finally {
    if (next < acts.length) nextTick(runAll, acts, next);
  }
}
