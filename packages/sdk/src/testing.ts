/** `holdfast/testing`: functions in memory, on a gateway's own decisions, and on the SDK that the app under test has. */

export { type ExportedFact, type ExportedRun, RUN_FORMAT, readExportedRun } from "./function-test/exported-run.ts";
export { FunctionTest, type TestOutput } from "./function-test/function-test.ts";
export { type Divergence, Replay, type ReplayResult } from "./function-test/replay.ts";
export type { FunctionTestOptions, StepAnswer, TestRun, TestStep } from "./function-test/test-types.ts";
