import { expect, test } from "vitest";
import { engineFor, opsOf } from "./support.ts";

const plain = { inPlace: false };

test("an attempt beyond the last one is also final", async () => {
  const engine = engineFor(({ step }) => step.run("a", () => Promise.reject(new Error("no"))), plain);
  for (const attempt of [2, 3, 20]) {
    const result = await engine.request("step", attempt);
    expect(result.noRetry, `attempt ${attempt}`).toBe(true);
    expect(opsOf(result)).toMatchObject([{ op: "StepFailed" }]);
  }
});

test.each([true, false])("a reported step contains its arguments at most once (in place: %s)", async (inPlace) => {
  const secret = "a very particular argument";
  const engine = engineFor(({ step }) => step.run("a", (text: string) => text.length, secret), { inPlace });
  const result = await engine.request();
  const sent = JSON.stringify([inPlace ? engine.checkpoints : [], new TextDecoder().decode(result.body)]);
  expect(sent.split(secret).length - 1).toBeLessThanOrEqual(1);
  expect(sent).not.toContain("rawArgs");
});
