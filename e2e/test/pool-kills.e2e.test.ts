import { expect, test } from "vitest";
import { killThreads } from "../support/pool-kills.mjs";

test("40 threads that end in every way leave no thread and no port behind", async () => {
  const { kills, signal } = await killThreads(40);
  expect(signal).toBeNull();
  expect(kills?.status).toBe("completed");
  // The first twenty are in the count, too.
  expect(kills?.codes).toEqual({ ISOLATE_BUDGET: 24, ISOLATE_THREAD_LOST: 36 });
  expect(kills?.after.tasks).toBe(kills?.before.tasks);
  expect(kills?.after.ports).toBe(0);
});
