import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { LongSteps } from "../../src/connection/main/long-steps.ts";
import type { MainMessage } from "../../src/connection/shared/messages.ts";
import type { RequestIdentity } from "../../src/connection/shared/reply.ts";
import { type RunningStepEntry, RunningSteps } from "../../src/execution/running-steps.ts";

/** Main's requests are those whose ids begin with `own`. */
function bench() {
  const clock = fakeClock();
  const sent: MainMessage[] = [];
  const running = new RunningSteps();
  const long = new LongSteps({
    clock,
    running,
    ledger: { identityOf: (id) => (id.startsWith("own") ? ({ requestId: id } as RequestIdentity) : undefined) },
    send: (message) => sent.push(message),
  });
  const begin = (requestId: string, stepId: string): RunningStepEntry => {
    const entry = { requestId, runId: "run", stepId, fromMs: clock.monotonicMs() };
    running.add(entry);
    return entry;
  };
  /** Main's pulse, as often as it comes. */
  const pass = async (ms: number): Promise<MainMessage[]> => {
    for (let left = ms; left > 0; left -= 250) {
      await clock.advance(250);
      long.tick();
    }
    return sent.splice(0);
  };
  return { long, running, begin, pass, clock };
}

const said = (requestId: string, ...entries: readonly RunningStepEntry[]) => ({
  type: "STEPS_RUNNING",
  requestId,
  steps: entries.map(({ stepId, fromMs }) => ({ id: stepId, fromMs })),
});

test("a step that takes long is said once, and once more when it is over; a quick one never", async () => {
  const { running, begin, pass } = bench();
  const charge = begin("own-1", "charge");
  const quick = begin("own-1", "quick");
  expect(await pass(1_500)).toEqual([]);
  running.remove(quick);
  expect(await pass(3_500)).toEqual([said("own-1", charge)]);
  expect(await pass(60_000)).toEqual([]);
  running.remove(charge);
  expect(await pass(3_000)).toEqual([said("own-1")]);
  expect(await pass(60_000)).toEqual([]);
});

test("steps beside it are said together, those of other connections are not", async () => {
  const { begin, pass } = bench();
  const one = begin("own-1", "one");
  begin("other", "x");
  await pass(2_500);
  const two = begin("own-1", "two");
  expect(await pass(3_500)).toEqual([said("own-1", one, two)]);
});

test("a new thread is told again", async () => {
  const { long, begin, pass } = bench();
  const charge = begin("own-1", "charge");
  await pass(5_000);
  long.onNewThread();
  expect(await pass(2_000)).toEqual([said("own-1", charge)]);
});
