/**
 * Calls one of the two, once, when what `code` returns has settled; later also where it throws, or returns no promise. A
 * plain promise is not awaited, which would keep a suspended function for each body and each handler; whatever else there
 * is, down to a promise whose own `then` throws, is left to `await`.
 */
export function follow(
  code: () => unknown,
  onValue: (value: unknown) => void,
  onError: (thrown: unknown) => void,
): void {
  let value: unknown;
  try {
    value = code();
    if (isPlainPromise(value)) return void value.then(onValue, onError);
  } catch (thrown) {
    value = Promise.reject(thrown);
  }
  void awaited(value, onValue, onError);
}

async function awaited(
  value: unknown,
  onValue: (value: unknown) => void,
  onError: (thrown: unknown) => void,
): Promise<void> {
  let settled: unknown;
  try {
    settled = await value;
  } catch (thrown) {
    return onError(thrown);
  }
  onValue(settled);
}

function isPlainPromise(value: unknown): value is Promise<unknown> {
  if (!(value instanceof Promise) || Object.getPrototypeOf(value) !== Promise.prototype) return false;
  return !Object.hasOwn(value, "then") && !Object.hasOwn(value, "constructor");
}
