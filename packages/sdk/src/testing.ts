/** `holdfast/testing`. It only re-exports from the main entry, so that a test never has two copies of the SDK. */
export {
  FunctionTest,
  type FunctionTestOptions,
  type StepAnswer,
  type TestOutput,
  type TestRun,
  type TestStep,
} from "./index.ts";
