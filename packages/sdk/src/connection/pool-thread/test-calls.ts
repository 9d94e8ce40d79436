/** The thread's end of `test-messages.ts`: asks the test, and is what asks in place of bodies and of the client. */
import type { Clock } from "@holdfast/core";
import { IsolatedFailure, IsolatedValue } from "../../execution/isolated-body.ts";
import type { Intercept } from "../../execution/pass-options.ts";
import { decodeResult, type ResultJson } from "../../execution/result-json.ts";
import type { AppClient } from "../../functions/app-client.ts";
import { mockOf, type TestAnswer, type TestCall, type TestDouble, type TestQuestion } from "./test-messages.ts";

export class TestCalls {
  readonly #double: TestDouble;
  readonly #mocked: ReadonlySet<string>;
  readonly #clock: Clock;
  readonly #waiting = new Map<number, (answer: TestAnswer) => void>();
  #nextId = 1;

  constructor(double: TestDouble, clock: Clock) {
    this.#double = double;
    this.#mocked = new Set(double.mocked);
    this.#clock = clock;
    double.port.on("message", (answer: TestAnswer) => {
      this.#waiting.get(answer.callId)?.(answer);
      this.#waiting.delete(answer.callId);
    });
  }

  /** A body that the test replaces runs in the test's thread, with copies of its arguments. */
  readonly intercept: Intercept = (fullId, call) => {
    const isMocked = call.kind === "run" && mockOf((id) => this.#mocked.has(id) || undefined, fullId);
    return isMocked ? { ...call, body: (_hash, args) => this.#runMock(fullId, args) } : call;
  };

  /** Sends nothing itself. */
  clientOf({ options, schemas }: AppClient): AppClient {
    return {
      options,
      schemas,
      sendEvents: async (events) => valueIn(await this.#ask({ type: "SEND_EVENTS", events })),
      sendSignal: async (signal) => valueIn(await this.#ask({ type: "SEND_SIGNAL", signal })),
      fetchRunState: async (runId) => valueIn(await this.#ask({ type: "FETCH_RUN_STATE", runId })),
    };
  }

  async #runMock(fullId: string, args: readonly unknown[]): Promise<IsolatedValue> {
    const startedMs = this.#clock.nowMs();
    const from = this.#clock.monotonicMs();
    const json = await this.#ask({ type: "STEP", fullId, args });
    return new IsolatedValue(json, { startedMs, durationMs: this.#clock.monotonicMs() - from });
  }

  /** @throws IsolatedFailure with what the test threw */
  async #ask(call: TestCall): Promise<ResultJson> {
    const callId = this.#nextId;
    this.#nextId += 1;
    const question: TestQuestion = { callId, callJson: JSON.stringify(call) };
    const answered = new Promise<TestAnswer>((resolve) => this.#waiting.set(callId, resolve));
    this.#double.port.postMessage(question);
    const answer = await answered;
    if (answer.type === "thrown") throw new IsolatedFailure(answer.thrown, null);
    return answer.json;
  }
}

/** The test has made it, as a client would. */
function valueIn<Value>(json: ResultJson): Value {
  return decodeResult(json) as Value;
}
