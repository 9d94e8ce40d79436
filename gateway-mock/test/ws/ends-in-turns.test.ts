import { Duplex } from "node:stream";
import { expect, test, vi } from "vitest";
import { ENDS_A_TURN, EndsInTurns } from "../../src/ws/ends-in-turns.ts";

function setUp() {
  const turns: (() => void)[] = [];
  const ends = new EndsInTurns((run) => void turns.push(run));
  const open = (onEnd: () => void): Duplex => {
    const socket = new Duplex({
      allowHalfOpen: true,
      autoDestroy: false,
      read: () => {},
      write: (_c, _e, done) => done(),
    });
    socket.once("end", onEnd);
    ends.take(socket);
    socket.resume();
    return socket;
  };
  return { turns, open };
}

test("of sockets that end in one turn so many are heard in each, in their order", async () => {
  const { turns, open } = setUp();
  const heard: number[] = [];
  const count = 2 * ENDS_A_TURN + 5;
  const sockets = Array.from({ length: count }, (_, index) => open(() => void heard.push(index)));
  for (const socket of sockets) socket.push(null);
  await vi.waitFor(() => expect(turns).toHaveLength(1));
  const lengths = [heard.length];
  while (turns.length > 0) {
    turns.shift()?.();
    lengths.push(heard.length);
  }
  expect(lengths).toEqual([ENDS_A_TURN, 2 * ENDS_A_TURN, count, count]);
  expect(heard).toEqual(sockets.map((_, index) => index));
});

test("one that has been destroyed while it waited is not ended any more, and one alone does not wait", async () => {
  const { turns, open } = setUp();
  const onEnd = vi.fn();
  const sockets = Array.from({ length: ENDS_A_TURN + 2 }, () => open(onEnd));
  for (const socket of sockets) socket.push(null);
  await vi.waitFor(() => expect(onEnd).toHaveBeenCalledTimes(ENDS_A_TURN));
  sockets.at(-1)?.destroy();
  while (turns.length > 0) turns.shift()?.();
  expect(onEnd).toHaveBeenCalledTimes(ENDS_A_TURN + 1);
  open(onEnd).push(null);
  await vi.waitFor(() => expect(onEnd).toHaveBeenCalledTimes(ENDS_A_TURN + 2));
});
