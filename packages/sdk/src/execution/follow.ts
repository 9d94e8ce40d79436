/**
 * Calls one of the two, once, when what `code` returns has settled; later also where it throws, or returns no promise. Not
 * an `await`, which would keep a suspended function for each body and each handler.
 */
export function follow(
  code: () => unknown,
  onValue: (value: unknown) => void,
  onError: (thrown: unknown) => void,
): void {
  let promise: Promise<unknown>;
  try {
    // Looking at a thenable may throw as well.
    promise = Promise.resolve(code());
  } catch (thrown) {
    promise = Promise.reject(thrown);
  }
  promise.then(onValue, onError);
}
