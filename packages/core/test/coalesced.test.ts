import { deferred } from "@holdfast/core";
import { expect, test } from "vitest";

import { coalesced } from "../src/index.ts";

/** Statements as they were sent, each answered when the test says so. */
function statements() {
  const sent: { readonly items: readonly string[]; answer(): void; fail(error: Error): void }[] = [];
  const run = (items: readonly string[]): Promise<string[]> => {
    const answer = deferred<string[]>();
    sent.push({
      items,
      answer: () => answer.resolve(items.map((item) => item.toUpperCase())),
      fail: (error) => answer.reject(error),
    });
    return answer.promise;
  };
  return { sent, run, asked: () => sent.map(({ items }) => items.join("")) };
}

test("a call that comes alone is sent at once, and nothing is joined to a statement that was sent before", async () => {
  const { sent, run, asked } = statements();
  const ask = coalesced({ atOnce: 1, most: 10 }, run);
  const answers = [ask("a")];
  await Promise.resolve();
  expect(asked()).toEqual(["a"]);
  answers.push(ask("b"), ask("c"));
  await Promise.resolve();
  expect(asked()).toEqual(["a"]);
  sent[0]?.answer();
  expect(await answers[0]).toBe("A");
  await Promise.resolve();
  expect(asked()).toEqual(["a", "bc"]);
  sent[1]?.answer();
  expect(await Promise.all(answers)).toEqual(["A", "B", "C"]);
});

test("no more statements are under way, and none has more items, than the limits say", async () => {
  const { sent, run, asked } = statements();
  const ask = coalesced({ atOnce: 2, most: 3 }, run);
  const answers = [..."abcdefgh"].map(ask);
  await Promise.resolve();
  expect(asked()).toEqual(["abc", "def"]);
  for (let index = 0; index < 3; index++) {
    sent[index]?.answer();
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent.length).toBeLessThanOrEqual(index + 3);
  }
  expect(asked()).toEqual(["abc", "def", "gh"]);
  expect(await Promise.all(answers)).toEqual([..."ABCDEFGH"]);
});

test("calls of one turn are one statement, also those that follow from answers that came together", async () => {
  const { sent, run, asked } = statements();
  const ask = coalesced({ atOnce: 2, most: 10 }, run);
  const answers = [..."abcd"].map(async (item) => ask(`${await ask(item)}!`));
  await Promise.resolve();
  expect(asked()).toEqual(["abcd"]);
  sent[0]?.answer();
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked()).toEqual(["abcd", "A!B!C!D!"]);
  sent[1]?.answer();
  expect(await Promise.all(answers)).toEqual(["A!", "B!", "C!", "D!"]);
});

test("a statement that fails fails its own calls, and the next ones are sent", async () => {
  const { sent, run } = statements();
  const ask = coalesced({ atOnce: 1, most: 10 }, run);
  const first = ask("a");
  await Promise.resolve();
  const second = ask("b");
  sent[0]?.fail(new Error("refused"));
  await expect(first).rejects.toThrow("refused");
  await new Promise((resolve) => setImmediate(resolve));
  sent[1]?.answer();
  expect(await second).toBe("B");
});
