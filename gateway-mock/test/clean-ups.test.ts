import { sleep } from "@holdfast/core";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { CleanUps } from "../src/clean-ups.ts";

function start(needs: readonly number[]) {
  const clock = fakeClock();
  const said: string[] = [];
  const ran: string[] = [];
  const cleanUps = new CleanUps();
  const add = (what: string, leastMs: number, takesMs: number): void =>
    cleanUps.add({
      what,
      leastMs,
      run: async (limitMs) => {
        ran.push(`${what} ${limitMs}`);
        await sleep(clock, takesMs);
        if (takesMs === 0) throw new Error("broken");
      },
    });
  needs.forEach((takesMs, index) => {
    add(`c${index}`, 100, takesMs);
  });
  const log = (_level: string, message: string): void => void said.push(message);
  const run = async (totalMs: number): Promise<number> => {
    const sinceMs = clock.monotonicMs();
    let endMs: number | null = null;
    void cleanUps.run(totalMs, { clock, timers: clock, log }).then(() => {
      endMs = clock.monotonicMs();
    });
    while (endMs === null) await clock.advance(10);
    return endMs - sinceMs;
  };
  return { run, said, ran };
}

const HANGS = 1_000_000;

test("clean-ups run in reverse order, each with the time that the others do not need", async () => {
  const { run, ran, said } = start([50, 50, 50]);
  expect(await run(1000)).toBe(150);
  expect(ran).toEqual(["c2 800", "c1 850", "c0 900"]);
  expect(said).toEqual([]);
});

test("when all clean-ups hang, each is tried and the sequence ends at the time limit", async () => {
  const { run, ran, said } = start([HANGS, HANGS, HANGS]);
  expect(await run(1000)).toBe(1000);
  expect(ran).toEqual(["c2 800", "c1 100", "c0 100"]);
  expect(said).toHaveLength(3);
});

test("a clean-up that fails is logged and does not prevent the others", async () => {
  const { run, ran, said } = start([50, 0]);
  await run(1000);
  expect(ran).toHaveLength(2);
  expect(said).toEqual(["Clean-up failed: c1: broken"]);
});
