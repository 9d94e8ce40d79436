import type { Store, StoredRun } from "@holdfast/store";
import { expect, test } from "vitest";
import { RunReads } from "../../src/dispatch/run-reads.ts";

/** A store whose answers come when the test says so; runs named "none" do not exist. */
function bench() {
  const asked: { ids: readonly string[]; answer(error?: Error): void }[] = [];
  const loadRuns: Store["loadRuns"] = (ids) =>
    new Promise((resolve, reject) => {
      const found = ids.filter((id) => id !== "none").map((id) => ({ head: { id } }) as StoredRun);
      asked.push({ ids, answer: (error) => (error ? reject(error) : resolve(found)) });
    });
  let mark = 0;
  const reads = new RunReads({ loadRuns }, () => mark);
  return { asked, reads, moveOn: () => (mark += 1) };
}

const names = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `run-${from + index}`);

test("a read requested while others run shares the next batch, which starts after the call", async () => {
  const { asked, reads, moveOn } = bench();
  const results = [reads.read("run-0")];
  await Promise.resolve();
  results.push(reads.read("run-1"));
  await Promise.resolve();
  results.push(...[...names(2, 80), "none", "run-79"].map((id) => reads.read(id)));
  await Promise.resolve();
  expect(asked.map(({ ids }) => ids)).toEqual([["run-0"], ["run-1"]]);
  // Asked again while it is read: what is under way may have been read before the call.
  const again = reads.read("run-0");
  moveOn();
  asked[0]?.answer();
  expect(await results[0]).toMatchObject({ stored: { head: { id: "run-0" } }, mark: 0 });
  await Promise.resolve();
  expect(asked[2]?.ids).toEqual(names(2, 66));
  asked[2]?.answer();
  expect(await results[2]).toMatchObject({ mark: 1 });
  await Promise.resolve();
  expect(asked[3]?.ids).toEqual([...names(66, 80), "none", "run-0"]);
  for (const { answer } of asked) answer();
  expect(await results[80]).toEqual({ stored: undefined, mark: 1 });
  expect(await again).toMatchObject({ stored: { head: { id: "run-0" } }, mark: 1 });
  expect(await results[81]).toMatchObject({ stored: { head: { id: "run-79" } } });
  await Promise.all(results);
});

test("runs that are asked for in one turn are read together", async () => {
  const { asked, reads } = bench();
  const results = names(0, 70).map((id) => reads.read(id));
  await Promise.resolve();
  expect(asked.map(({ ids }) => ids)).toEqual([names(0, 64), names(64, 70)]);
  for (const { answer } of asked) answer();
  expect(await Promise.all(results)).toHaveLength(70);
});

test("a failed read fails for all callers that share it, and for no other", async () => {
  const { asked, reads } = bench();
  const results = [reads.read("run-0")];
  await Promise.resolve();
  results.push(reads.read("run-1"));
  await Promise.resolve();
  results.push(...names(2, 7).map((id) => reads.read(id)));
  asked[0]?.answer(new Error("away"));
  await expect(results[0]).rejects.toThrow("away");
  await Promise.resolve();
  expect(asked[2]?.ids).toEqual(names(2, 7));
  asked[2]?.answer(new Error("still away"));
  const shared = await Promise.allSettled(results.slice(2));
  expect(shared.every(({ status }) => status === "rejected")).toBe(true);
  for (const { answer } of asked) answer();
  await results[1];
  const last = reads.read("run-9");
  await Promise.resolve();
  asked[3]?.answer();
  expect(await last).toMatchObject({ stored: { head: { id: "run-9" } } });
});
