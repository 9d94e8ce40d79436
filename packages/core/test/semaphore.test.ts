import { setImmediate as soon } from "node:timers/promises";
import { expect, test } from "vitest";
import { Semaphore } from "../src/index.ts";

test("a semaphore runs at most its limit of tasks, in order of arrival, even when some fail", async () => {
  const turns = new Semaphore(2);
  const began: number[] = [];
  let under = 0;
  let most = 0;
  const task = (index: number) => async (): Promise<number> => {
    began.push(index);
    under += 1;
    most = Math.max(most, under);
    await soon();
    under -= 1;
    if (index % 3 === 0) throw new Error(`${index} failed`);
    return index;
  };
  const results = await Promise.allSettled(Array.from({ length: 9 }, (_, index) => turns.run(task(index))));
  expect(results.map(({ status }) => status === "fulfilled")).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2].map((n) => n !== 0));
  expect(began).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  expect(most).toBe(2);
});

test("a semaphore releases the slot of a task that throws synchronously", async () => {
  const turns = new Semaphore(1);
  await expect(
    turns.run(() => {
      throw new Error("at once");
    }),
  ).rejects.toThrow("at once");
  await expect(turns.run(async () => 1)).resolves.toBe(1);
});
