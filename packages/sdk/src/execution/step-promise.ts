/** The promise of a step, which knows whether it was ever awaited, so that a forgotten `await` can be reported. */
export class StepPromise<T> extends Promise<T> {
  /** It is awaited, or was. */
  isAwaited = false;

  // biome-ignore lint/suspicious/noThenProperty: await, catch, finally, all and race all come through here
  override then<A = T, B = never>(
    onValue?: ((value: T) => A | PromiseLike<A>) | null,
    onError?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true;
    return super.then(onValue, onError);
  }

  /** An error that is never awaited must not end the process. */
  quieten(): void {
    const { isAwaited } = this;
    super.then(undefined, () => {});
    this.isAwaited = isAwaited;
  }
}

/**
 * `await`, `Promise.all` and the like ask a promise for its constructor. Where that is `Promise` they wait for it as it is;
 * for any other they make a promise around it and call `then`, which are three promises more for each step.
 */
Object.defineProperty(StepPromise.prototype, "constructor", {
  configurable: true,
  get(this: StepPromise<unknown>) {
    this.isAwaited = true;
    return Promise;
  },
});
