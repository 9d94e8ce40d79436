/**
 * The promise of a step, which knows whether it was ever awaited, and how: a forgotten `await` can be reported, and a step
 * that may have lost a race is none.
 */
export class StepPromise<T> extends Promise<T> {
  /** Private, so that a promise that is returned by mistake is `{}` in JSON. */
  #isAwaited = false;
  #isCombined = false;

  /** It is awaited, or was. */
  get isAwaited(): boolean {
    return this.#isAwaited;
  }

  /** `Promise.race`, `all` and the like wait for it. */
  get isCombined(): boolean {
    return this.#isCombined;
  }

  // biome-ignore lint/suspicious/noThenProperty: catch, finally, all and race all come through here
  override then<A = T, B = never>(
    onValue?: ((value: T) => A | PromiseLike<A>) | null,
    onError?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#isAwaited = true;
    if (isNative(onValue) && isNative(onError)) this.#isCombined = true;
    return super.then(onValue, onError);
  }

  /** An error that is never awaited must not end the process. */
  quieten(): void {
    const isAwaited = this.#isAwaited;
    // It asks for the constructor, too.
    super.then(undefined, () => {});
    this.#isAwaited = isAwaited;
  }

  static {
    /**
     * `await`, `Promise.all` and the like ask a promise for its constructor. Where that is `Promise` they wait for it as it
     * is; for any other they make a promise around it and call `then`, which are three promises more for each step.
     */
    Object.defineProperty(StepPromise.prototype, "constructor", {
      configurable: true,
      get(this: StepPromise<unknown>) {
        this.#isAwaited = true;
        return Promise;
      },
    });
  }
}

/** What settles a promise that the engine has made for others. */
const isNative = (callback: unknown): boolean =>
  typeof callback === "function" && Function.prototype.toString.call(callback).includes("[native code]");
