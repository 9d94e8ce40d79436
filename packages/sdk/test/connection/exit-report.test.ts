import { afterEach, expect, test, vi } from "vitest";
import { exitMessage, reportExit } from "../../src/connection/main/exit-report.ts";
import { RunningSteps } from "../../src/execution/running-steps.ts";

const ended: (() => void)[] = [];

afterEach(() => {
  for (const end of ended.splice(0)) end();
});

function connection() {
  const running = new RunningSteps();
  const log = vi.fn();
  const end = reportExit({ running, log });
  ended.push(end);
  return { running, log, end };
}

const entry = (stepId: string, runId: string) => ({ requestId: `of ${runId}`, runId, stepId, fromMs: 0 });
const exit = (code: number): void => void process.emit("exit", code);

test("any number of connections is one listener of the process, and none once they are closed", () => {
  const before = process.listenerCount("exit");
  const all = Array.from({ length: 20 }, connection);
  expect(process.listenerCount("exit")).toBe(before + 1);
  for (const { end } of all) end();
  expect(process.listenerCount("exit")).toBe(before);
});

test("an exit while steps run is one line that names them, those of other connections, too", () => {
  const [one, other] = [connection(), connection()];
  one.running.add(entry("bad", "A"));
  other.running.add(entry("long", "B"));
  exit(3);
  expect(one.log.mock.calls).toEqual([
    ["error", 'The process exits with code 3 while running step "bad" of run A, step "long" of run B.'],
  ]);
  expect(other.log).not.toHaveBeenCalled();
});

test("nothing is logged where nothing runs, or the connection is closed", () => {
  const { running, log, end } = connection();
  const done = entry("done", "A");
  running.add(done);
  running.remove(done);
  exit(0);
  running.add(done);
  end();
  exit(1);
  expect(log).not.toHaveBeenCalled();
});

test("the step that exits is told apart from those that go with it", () => {
  const caller = { requestId: "of A", runId: "A", functionSlug: "shop-order" };
  const bad = { id: "bad", hash: "", attempt: 0, active: true };
  const running = [entry("bad", "A"), entry("long", "B")];
  expect(exitMessage(3, running, { ...caller, step: bad })).toBe(
    'The process exits with code 3 in step "bad" of run A. Also running: step "long" of run B.',
  );
  expect(exitMessage(1, [], caller)).toBe("The process exits with code 1 in the handler of run A.");
  const many = Array.from({ length: 7 }, (_, index) => entry("s", String(index)));
  expect(exitMessage(1, many)).toMatch(/step "s" of run 4 and 2 more\.$/);
});
