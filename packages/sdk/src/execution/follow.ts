/**
 * Calls one of the two, once, when `value` has settled; later also where it is no promise. Not an `await`, which would keep a
 * suspended function for each body and each handler. What a hostile thenable throws is an error of its own.
 */
export function follow(value: unknown, onValue: (value: unknown) => void, onError: (thrown: unknown) => void): void {
  let promise: Promise<unknown>;
  try {
    promise = Promise.resolve(value);
  } catch (thrown) {
    promise = Promise.reject(thrown);
  }
  promise.then(onValue, onError);
}
