/** How a long list is worked through in parts. */
import { type Deferred, deferred, nextTurn } from "@holdfast/core";
import { expect, test } from "vitest";
import { inParts } from "../../src/dispatch/events/in-parts.ts";

/** Parts that end when the test says so. */
class Parts {
  readonly begun: (readonly number[])[] = [];
  readonly #ends: Deferred<readonly number[]>[] = [];

  readonly carryOut = (part: readonly number[]): Promise<readonly number[]> => {
    const end = deferred<readonly number[]>();
    this.begun.push(part);
    this.#ends.push(end);
    return end.promise;
  };

  async end(index: number, error?: Error): Promise<void> {
    if (error) this.#ends[index]?.reject(error);
    else this.#ends[index]?.resolve((this.begun[index] ?? []).map((one) => one * 10));
    await turns();
  }
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
};

test("a short list is one part", async () => {
  const parts = new Parts();
  const all = inParts([1, 2, 3], 3, parts.carryOut);
  expect(parts.begun).toEqual([[1, 2, 3]]);
  await parts.end(0);
  expect(await all).toEqual([10, 20, 30]);
});

test("an empty list is one part, too", async () => {
  expect(await inParts([], 3, async () => [])).toEqual([]);
});

test("two parts are under way, and the outcomes are in the order of the items", async () => {
  const parts = new Parts();
  const all = inParts([1, 2, 3, 4, 5], 2, parts.carryOut);
  await turns();
  expect(parts.begun).toEqual([
    [1, 2],
    [3, 4],
  ]);
  await parts.end(1);
  expect(parts.begun).toHaveLength(2);
  await parts.end(0);
  expect(parts.begun[2]).toEqual([5]);
  await parts.end(2);
  expect(await all).toEqual([10, 20, 30, 40, 50]);
});

test("after a failure no further part begins, and what is under way ends first", async () => {
  const parts = new Parts();
  let failure: unknown;
  const all = inParts([1, 2, 3], 1, parts.carryOut).catch((error: unknown) => {
    failure = error;
  });
  await turns();
  await parts.end(0, new Error("The first one failed."));
  expect(parts.begun).toEqual([[1], [2]]);
  expect(failure).toBeUndefined();
  await parts.end(1);
  await all;
  expect(failure).toEqual(new Error("The first one failed."));
  expect(parts.begun).toHaveLength(2);
});

test("a failure of the last part is one of all", async () => {
  const parts = new Parts();
  const all = inParts([1, 2], 1, parts.carryOut);
  const failed = expect(all).rejects.toThrow("The last one failed.");
  await turns();
  await parts.end(0);
  await parts.end(1, new Error("The last one failed."));
  await failed;
});
