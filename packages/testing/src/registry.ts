/** What this package has started in this process and not ended yet; the leak check asks for it. */
const alive = new Map<symbol, { readonly kind: string; readonly describe: () => string }>();

/** @returns to be called when the thing has ended */
export function register(kind: string, describe: () => string): () => void {
  const key = Symbol(kind);
  alive.set(key, { kind, describe });
  return () => void alive.delete(key);
}

/** Keys and descriptions of what is alive. */
export const registered = (): ReadonlyMap<symbol, { readonly describe: () => string }> => alive;
