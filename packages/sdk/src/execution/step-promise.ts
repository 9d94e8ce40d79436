/** The promise of a step, which knows whether anybody has looked at it: a forgotten `await` can be told. */
export class StepPromise<T> extends Promise<T> {
  /** Someone awaits it, or awaited it. */
  isAwaited = false;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

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
    super.then(undefined, () => {});
  }
}
