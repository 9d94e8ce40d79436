import { plainError } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { lostTurnReply, type TurnSteps } from "../../src/connection/machines/lost-turn.ts";

const ERROR = plainError("ISOLATE_BUDGET", "It took too long.");
const OF_STEP = 'Step "parse" (attempt 2) of function "shop-order", run R: it took too long.';
const OF_HANDLER = 'The handler of function "shop-order", run R: it took too long.';
const failure = (op: string): string =>
  `{"id":"hash","op":"${op}","displayName":"parse","error":{"name":"","message":""},"data":${op === "StepFailed" ? '{"__serialized":true,"name":"","message":"","stack":""}' : "null"},"timing":{"a":1000000000,"b":0},"attempt":1}`;
const steps = (running: readonly string[], ended: readonly string[] = []): TurnSteps => ({
  identity: { functionSlug: "shop-order", runId: "R" },
  running: new Map(running.map((text, index) => [`r${index}`, text])),
  ended: new Map(ended.map((text, index) => [`e${index}`, text])),
});
const bodyOf = (turn: TurnSteps): unknown =>
  JSON.parse(new TextDecoder().decode(lostTurnReply(turn, ERROR, 1_500).body));

describe("The reply to a turn whose thread is lost", () => {
  it("LOST-1: a step whose body was running fails with the error, and says how long it ran", () => {
    expect(bodyOf(steps([failure("StepError")]))).toEqual([
      {
        ...{ id: "hash", op: "StepError", displayName: "parse", attempt: 1, data: null },
        error: { ...ERROR, message: OF_STEP, __serialized: true },
        timing: { a: 1_000_000_000, b: 500_000_000 },
      },
    ]);
    expect(lostTurnReply(steps([failure("StepError")]), ERROR, 1_500)).toMatchObject({
      status: "NOT_COMPLETED",
      noRetry: false,
    });
  });

  it("LOST-1: the last attempt of a step fails permanently, and its data names the error", () => {
    expect(bodyOf(steps([failure("StepFailed")]))).toMatchObject([
      { op: "StepFailed", data: { __serialized: true, name: ERROR.name, message: OF_STEP } },
    ]);
    expect(lostTurnReply(steps([failure("StepFailed")]), ERROR, 1_500).noRetry).toBe(true);
    const two = steps([failure("StepFailed"), failure("StepError")]);
    expect(lostTurnReply(two, ERROR, 1_500).noRetry, "beside another one").toBe(false);
  });

  it("LOST-1: what had ended counts", () => {
    const done = '{"id":"other","op":"StepRun","data":1}';
    expect(bodyOf(steps([failure("StepError")], [done]))).toMatchObject([{ op: "StepRun" }, { op: "StepError" }]);
    expect(bodyOf(steps([], [done]))).toMatchObject([{ op: "StepRun" }]);
  });

  it("LOST-2: with no step begun the attempt of the handler fails", () => {
    expect(lostTurnReply(steps([]), ERROR, 1_500)).toMatchObject({ status: "ERROR", noRetry: false });
    expect(bodyOf(steps([]))).toEqual({ ...ERROR, message: OF_HANDLER, __serialized: true });
  });
});
