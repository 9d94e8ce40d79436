import { afterEach, expect, test, vi } from "vitest";
import { handleSignals, type SignalHandlers } from "../../src/connection/main/signals.ts";

const open: SignalHandlers[] = [];

/** Something of the app's that keeps the signal from ending the process. */
const app = vi.fn();

function connection(): {
  readonly drain: ReturnType<typeof vi.fn>;
  readonly force: ReturnType<typeof vi.fn>;
} & SignalHandlers {
  const [drain, force] = [vi.fn(), vi.fn()];
  const handlers = handleSignals(["SIGUSR2"], { drain, force });
  open.push(handlers);
  return { drain, force, remove: () => handlers.remove() };
}

afterEach(() => {
  for (const handlers of open.splice(0)) handlers.remove();
  process.removeListener("SIGUSR2", app);
});

test("any number of connections is one listener of the process", () => {
  const before = process.listenerCount("SIGUSR2");
  const connections = Array.from({ length: 20 }, connection);
  expect(process.listenerCount("SIGUSR2")).toBe(before + 1);
  for (const { remove } of connections) remove();
  expect(process.listenerCount("SIGUSR2")).toBe(before);
});

test("each connection drains at the first signal and is forced at the next", () => {
  process.on("SIGUSR2", app);
  const [one, other] = [connection(), connection()];
  process.emit("SIGUSR2", "SIGUSR2");
  const late = connection();
  process.emit("SIGUSR2", "SIGUSR2");
  expect([one, other, late].map(({ drain }) => drain.mock.calls)).toEqual([
    [["SIGUSR2"]],
    [["SIGUSR2"]],
    [["SIGUSR2"]],
  ]);
  expect([one, other, late].map(({ force }) => force.mock.calls.length)).toEqual([1, 1, 0]);
  expect(app).toHaveBeenCalledTimes(2);
});

test("a connection that closes while it is told does not keep others from being told", () => {
  process.on("SIGUSR2", app);
  const one = connection();
  one.drain.mockImplementation(() => one.remove());
  const other = connection();
  process.emit("SIGUSR2", "SIGUSR2");
  expect(other.drain).toHaveBeenCalledOnce();
});

test("who closes last passes the signal on", () => {
  const kill = vi.spyOn(process, "kill").mockReturnValue(true);
  vi.useFakeTimers();
  try {
    const [one, other] = [connection(), connection()];
    process.emit("SIGUSR2", "SIGUSR2");
    one.remove();
    expect(kill).not.toHaveBeenCalled();
    other.remove();
    expect(kill.mock.calls).toEqual([[process.pid, "SIGUSR2"]]);
  } finally {
    vi.useRealTimers();
    kill.mockRestore();
  }
});
