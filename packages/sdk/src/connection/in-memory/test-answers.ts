/** The test's end of `pool-thread/test-messages.ts`: a port for each pool thread, on which the test answers. */
import type { MessagePort } from "node:worker_threads";
import { encodeResult, type ResultJson } from "../../execution/result-json.ts";
import { readThrown } from "../../execution/thrown.ts";
import { nodeModule } from "../../runtime.ts";
import type { TestAnswer, TestCall, TestQuestion } from "../pool-thread/test-messages.ts";

export type AnswerTestCall = (call: TestCall) => unknown;

/** The thread's end of a new port. It closes with the thread. */
export function openTestPort(answer: AnswerTestCall): MessagePort {
  const { port1, port2 } = new (nodeModule("node:worker_threads").MessageChannel)();
  port1.on("message", ({ callId, callJson }: TestQuestion) => {
    const call = JSON.parse(callJson) as TestCall;
    void answerTo(call, answer).then((content) => port1.postMessage({ callId, ...content } satisfies TestAnswer));
  });
  // Threads end with the run: a port alone must not keep the test's process.
  port1.unref();
  return port2;
}

type Content<Answer> = Answer extends unknown ? Omit<Answer, "callId"> : never;

async function answerTo(call: TestCall, answer: AnswerTestCall): Promise<Content<TestAnswer>> {
  try {
    return { type: "value", json: jsonOf(call, await answer(call)) };
  } catch (thrown) {
    return { type: "thrown", thrown: readThrown(thrown) };
  }
}

/** Only what a step gives is bound by what a step may give. */
function jsonOf(call: TestCall, value: unknown): ResultJson {
  if (call.type === "STEP") return encodeResult(value, `step "${call.fullId}"`);
  return { text: JSON.stringify(value) ?? "null", isUndefined: value === undefined };
}
