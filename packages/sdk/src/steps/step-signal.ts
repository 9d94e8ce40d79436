/**
 * `stepSignal()`: how the body of a step learns that it is not wanted any more. It imports nothing, so that modules
 * which run in several threads may use it; the execution of each thread says what it finds.
 */

type FindSignal = () => AbortSignal | undefined;

// All copies of this package in a thread share it.
const KEY = Symbol.for("holdfast.stepSignal");

function finders(): Set<FindSignal> {
  const globals = globalThis as { [KEY]?: Set<FindSignal> };
  globals[KEY] ??= new Set();
  return globals[KEY];
}

/**
 * The AbortSignal of the step whose body calls this, also in functions that it calls and after `await`. It fires when
 * the step's `timeout` is over, with a `StepTimeoutError`, and whenever the handler's `signal` does. In a handler,
 * outside of steps, it is the handler's `signal`; elsewhere, as in a test that calls the body itself, it never fires.
 */
export function stepSignal(): AbortSignal {
  for (const find of finders()) {
    const signal = find();
    if (signal !== undefined) return signal;
  }
  return new AbortController().signal;
}

/** Says what `stepSignal()` may find in this thread. */
export function provideStepSignal(find: FindSignal): void {
  finders().add(find);
}
