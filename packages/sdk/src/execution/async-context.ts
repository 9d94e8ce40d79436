/** The async context of a call, kept for code that runs later: what an AsyncLocalStorage of the author held there. */
import type { AsyncResource } from "node:async_hooks";
import { nodeModule } from "../runtime.ts";

export type AsyncContext = Pick<AsyncResource, "runInAsyncScope">;

let Resource: typeof AsyncResource | undefined;

/** That of the code that calls this. */
export function asyncContext(): AsyncContext {
  Resource ??= nodeModule("node:async_hooks").AsyncResource;
  return new Resource("holdfast.start");
}
