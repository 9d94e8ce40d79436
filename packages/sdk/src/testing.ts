/** `holdfast/testing`: functions in memory, on a gateway's own decisions, and on the SDK that the app under test has. */
export { FunctionTest, type TestOutput } from "./function-test/function-test.ts";
export type { FunctionTestOptions, StepAnswer, TestRun, TestStep } from "./function-test/test-types.ts";
