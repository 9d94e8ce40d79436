/** `holdfast/isolate`: what modules with isolated code import. It is small, since each thread of the pool evaluates it. */
export { type IsolatedOptions, isolated } from "./steps/isolated.ts";
export { isPoolThread } from "./steps/pool-thread.ts";
export { stepSignal } from "./steps/step-signal.ts";
