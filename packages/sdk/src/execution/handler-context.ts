/**
 * The object that a handler is called with. Its signal and its logger are made when they are asked for: most handlers never
 * do.
 */
import type { LoggerLike } from "@holdfast/core";
import type { HandlerContext } from "../functions/define-function.ts";

type Lazy = "signal" | "logger";
/** What makes them. */
type Makers = { readonly [Name in Lazy]: () => HandlerContext<unknown>[Name] };

interface LazyValues {
  readonly make: Makers;
  logger: LoggerLike | undefined;
}

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
    return this[LAZY].make.signal();
  },
};
const LOGGER = {
  enumerable: true,
  configurable: true,
  get(this: WithLazy): LoggerLike {
    const lazy = this[LAZY];
    lazy.logger ??= lazy.make.logger();
    return lazy.logger;
  },
};

/** `values` becomes the context. */
export function handlerContext(values: Omit<HandlerContext<unknown>, Lazy>, make: Makers): HandlerContext<unknown> {
  const lazy: LazyValues = { make, logger: undefined };
  Object.defineProperty(values, LAZY, { value: lazy });
  Object.defineProperty(values, "signal", SIGNAL);
  Object.defineProperty(values, "logger", LOGGER);
  return values as HandlerContext<unknown>;
}
