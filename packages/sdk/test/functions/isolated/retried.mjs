// The test puts the function in place that a module of an app would make with createFunction().
export const retried = globalThis[Symbol.for("holdfast.test.retried")];
