/**
 * The object that a handler is called with. What costs something is made when it is asked for: most handlers never ask.
 */
import type { LoggerLike } from "@holdfast/core";
import type { HandlerContext } from "../functions/define-function.ts";

type Lazy = "signal" | "logger" | "continueAs";
/** Has them, or makes them. */
export type LazyValues = { readonly [Name in Lazy]: HandlerContext<unknown>[Name] };

/** Not enumerable: a copy of a context has the values. */
const LAZY = Symbol("holdfast.lazy");
interface WithLazy {
  readonly [LAZY]: LazyValues;
}

/**
 * Getters that all contexts share, since one with getters of its own would be a dictionary of a kilobyte. Own properties
 * of the context all the same: a handler may be given `{ ...context, more }` by a wrapper of the author's.
 */
const SIGNAL = {
  enumerable: true,
  configurable: true,
  get(this: WithLazy): AbortSignal {
    return this[LAZY].signal;
  },
};
const LOGGER = {
  enumerable: true,
  configurable: true,
  get(this: WithLazy): LoggerLike {
    return this[LAZY].logger;
  },
};
const CONTINUE_AS = {
  enumerable: true,
  configurable: true,
  get(this: WithLazy): HandlerContext<unknown>["continueAs"] {
    return this[LAZY].continueAs;
  },
};

/** `values` becomes the context. */
export function handlerContext(values: Omit<HandlerContext<unknown>, Lazy>, lazy: LazyValues): HandlerContext<unknown> {
  Object.defineProperty(values, LAZY, { value: lazy });
  Object.defineProperty(values, "signal", SIGNAL);
  Object.defineProperty(values, "logger", LOGGER);
  Object.defineProperty(values, "continueAs", CONTINUE_AS);
  return values as HandlerContext<unknown>;
}
