/**
 * `@holdfast/testing/functions`: functions run in memory, without a gateway. It is `holdfast/testing` by another name, so that
 * everything for tests can be found in one package; nothing of the SDK is copied here.
 */
export {
  FunctionTest,
  type FunctionTestOptions,
  type StepAnswer,
  type TestOutput,
  type TestRun,
  type TestStep,
} from "holdfast/testing";
