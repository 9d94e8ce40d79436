/** The promise of a step, which knows whether it was ever awaited, so that a forgotten `await` can be reported. */
export class StepPromise<T> extends Promise<T> {
  /** It is awaited, or was. */
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
