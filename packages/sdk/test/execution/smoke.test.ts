import { expect, test } from "vitest";
import { Client } from "../../src/client/client.ts";
import { Engine } from "./engine.ts";

const client = new Client({ id: "app", isDev: true }, {});

for (const inPlace of [true, false]) {
  test(`sequence, inPlace=${inPlace}`, async () => {
    const calls: string[] = [];
    const fn = client.createFunction({ id: "f" }, async ({ step }) => {
      const a = await step.run("a", () => (calls.push("a"), { at: new Date(0) }));
      await step.sleep("s", "1h");
      const [b, c] = await Promise.all([
        step.run("b", () => (calls.push("b"), 1)),
        step.run("c", async () => {
          calls.push("c");
        }),
      ]);
      return [a, b, c === undefined];
    });
    const engine = new Engine({ client, fn, inPlace });
    expect(await engine.run()).toEqual({
      status: "completed",
      value: [{ at: "1970-01-01T00:00:00.000Z" }, 1, inPlace],
    });
    expect(calls.sort()).toEqual(["a", "b", "c"]);
    console.log(inPlace, engine.checkpoints.length, engine.results.length);
  });
}

test("speed", async () => {
  const fn = client.createFunction({ id: "f" }, async ({ step }) => {
    let sum = 0;
    for (let i = 0; i < 1000; i += 1) sum += await step.run("a", () => i);
    return sum;
  });
  for (let k = 0; k < 5; k += 1) {
    const engine = new Engine({ client, fn, inPlace: true });
    const from = performance.now();
    await engine.run();
    const mid = performance.now();
    await engine.request();
    console.log("1000 steps", mid - from, "ms; replay", performance.now() - mid);
  }
});
