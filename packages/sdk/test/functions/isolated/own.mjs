// The tests put the function in place that a module of an app would make with createFunction().
export const own = globalThis[Symbol.for("holdfast.test.own")];
export const ownOther = globalThis[Symbol.for("holdfast.test.ownOther")];
