import { threadId } from "node:worker_threads";
import { expect, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { FunctionTest } from "../../src/testing.ts";
import { isolatedModule } from "./pool-harness.ts";

test("FunctionTest runs isolated bodies in the test's thread, mocks them, and runs them in threads when asked to", async () => {
  await using code = await isolatedModule(`
    import { threadId } from "node:worker_threads";
    export const where = isolated(import.meta.url, "where", (name) => ({ name, threadId }));
    export const spin = isolated(import.meta.url, "spin", () => { for (;;); }, { budget: 30 });
  `);
  const { where, spin } = (await import(code.url)) as Record<"where" | "spin", (...args: unknown[]) => unknown>;
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const client = new Holdfast({ id: "app", isDev: true, logger });
  const fn = client.createFunction({ id: "go", retries: 1, triggers: { event: "app/go" } }, ({ step }) =>
    step.run("where", where, "one"),
  );
  const endless = client.createFunction({ id: "endless", retries: 1, triggers: { event: "app/go" } }, ({ step }) =>
    step.run("spin", spin),
  );
  const inline = await new FunctionTest(fn).run();
  expect(inline.output).toEqual({ name: "one", threadId });
  const mocked = await new FunctionTest(fn, {
    isolation: "real",
    steps: [{ id: "where", handler: (name: string) => `mocked ${name}` }],
  }).run();
  expect(mocked.output).toBe("mocked one");
  const real = await new FunctionTest(fn, { isolation: "real" }).run();
  expect(real.output).toMatchObject({ name: "one" });
  expect((real.output as { threadId: number }).threadId).not.toBe(threadId);
  const overrun = await new FunctionTest(endless, { isolation: "real" }).run();
  expect(overrun).toMatchObject({ status: "failed", steps: [{ id: "spin", attempts: 2 }] });
  expect(overrun.error).toMatchObject({ code: "ISOLATE_BUDGET" });
  expect(() => new FunctionTest(fn, { isolation: "threads" as "real" })).toThrow(/"inline" or "real"/);
});
