/**
 * How one function names another for `step.invoke`: the function itself or a reference, with the types of its data
 * and result.
 */
import { HoldfastError } from "@holdfast/core";
import type { UntypedData } from "../events/event-types.ts";

/** Never there: carries the types of a function's data and output. */
declare const TYPES: unique symbol;

/** What `step.invoke` needs to know of a function, for the compiler. */
export interface FunctionTypes<Data = UntypedData, Output = unknown> {
  readonly [TYPES]?: { readonly data: Data; readonly output: Output };
}

/** A function of this process, or a reference to one that lives elsewhere. */
export type InvokeTarget = FunctionTypes<unknown, unknown> &
  ({ readonly slug: string } | { readonly functionId: string; readonly appId?: string });

/** The data that a function is invoked with. */
export type DataOf<Target> = Target extends FunctionTypes<infer Data, unknown> ? Data : UntypedData;
/** What a function returns. */
export type OutputOf<Target> = Target extends FunctionTypes<unknown, infer Output> ? Output : unknown;

/** Names a function without importing its code. */
export interface FunctionReference<Data = UntypedData, Output = unknown> extends FunctionTypes<Data, Output> {
  readonly functionId: string;
  readonly appId?: string;
}

/**
 * Names a function for `step.invoke`. Without `appId` it is one of the invoking app. The type parameter types data and
 * result:
 *
 *     import type { ship } from "./warehouse.ts";
 *     const reference = referenceFunction<typeof ship>({ functionId: "ship", appId: "warehouse" });
 */
export function referenceFunction<Target extends FunctionTypes<unknown, unknown> = FunctionTypes>(options: {
  readonly functionId: string;
  readonly appId?: string;
}): FunctionReference<DataOf<Target>, OutputOf<Target>> {
  const { functionId, appId } = (options ?? {}) as Partial<Record<"functionId" | "appId", unknown>>;
  if (typeof functionId !== "string" || functionId === "") {
    throw new HoldfastError("FUNCTION_INVALID", 'referenceFunction() needs a `functionId`, such as "ship".');
  }
  if (appId !== undefined && (typeof appId !== "string" || appId === "")) {
    throw new HoldfastError("FUNCTION_INVALID", "The `appId` of referenceFunction() must be the id of an app.");
  }
  return Object.freeze({ functionId, ...(appId === undefined ? {} : { appId }) });
}
