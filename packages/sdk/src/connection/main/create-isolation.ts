/** The pool of this process's connections and tests: with the script of its threads, and the debugger in mind. */
import type { Log } from "@holdfast/core";
import { type HandlerSupport, Isolation, type IsolationOptions } from "../../isolation/main/isolation.ts";
import { readTable } from "../../options.ts";
import { loadPoolScript } from "../../thread-script.ts";
import { isInspectorOpen } from "./inspector.ts";
import { ISOLATION, isolationOf } from "./isolation-option-table.ts";

/** What `connect()` has without `isolation`. */
export function defaultIsolation(): IsolationOptions {
  return isolationOf(readTable(ISOLATION, {}, {}));
}

/** Options as `connect({ isolation })` takes them come from `isolationOf`; without any these are the defaults. */
export function createIsolation(
  log: Log,
  options?: IsolationOptions,
  forHandlers?: HandlerSupport,
  output: Log = log,
): Isolation {
  return new Isolation({
    options: options ?? defaultIsolation(),
    loadScript: loadPoolScript,
    log,
    output,
    isDebugged: isInspectorOpen,
    ...(forHandlers === undefined ? {} : { forHandlers }),
  });
}
