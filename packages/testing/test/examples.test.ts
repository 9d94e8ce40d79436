import { readFileSync } from "node:fs";
// example
import { startTestGateway } from "@holdfast/testing";
import { FunctionTest } from "@holdfast/testing/functions";
import { Holdfast } from "holdfast";
import { expect, test } from "vitest";

const app = new Holdfast({ id: "shop", isDev: true });

const order = app.createFunction({ id: "order", triggers: { event: "shop/placed" } }, async ({ event, step }) => {
  const payment = await step.run("charge", () => ({ id: "p1", card: event.data.card }));
  await step.sleep("pack", "2h");
  const approval = await step.waitForEvent("approval", { event: "shop/approved", timeout: "1d" });
  return { payment, by: approval?.data.by ?? "nobody" };
});

test("the order example works in memory", async () => {
  const orders = new FunctionTest(order, {
    event: { name: "shop/placed", data: { card: "4242" } },
    steps: [{ id: "charge", handler: () => ({ id: "test" }) }],
  });

  const run = await orders.run(); // to the end: sleeps are skipped, waits that nothing answers time out
  expect(run.output).toEqual({ payment: { id: "test" }, by: "nobody" });
  expect(run.elapsedMs).toBe(26 * 3_600_000);

  const approved = await orders.run({ steps: [{ id: "approval", handler: () => ({ by: "Ann" }), after: "1h" }] });
  expect(approved.output?.by).toBe("Ann");

  const waiting = await orders.runUntil("approval"); // until a step is done, or waits
  expect(waiting.step.options).toMatchObject({ event: "shop/approved", timeout: "1d" });

  const failing = { id: "charge", handler: () => Promise.reject(new Error("declined")) };
  const failed = await orders.run({ steps: [failing] }); // tried again without waiting
  expect(failed.error?.message).toBe("declined");
});

test("the order example works on a gateway", async () => {
  await using gateway = await startTestGateway(); // a database of its own, any free port
  const shop = new Holdfast({ id: "shop", isDev: true, baseUrl: gateway.url });
  const packing = shop.createFunction(
    { id: "packing", triggers: { event: "shop/placed" } },
    async ({ event, step }) => {
      await step.sleep("pack", "2h");
      return step.run("ship", () => `${event.data.card} shipped`);
    },
  );
  await using _connection = await shop.connect({ functions: [packing] });

  const { ids } = await shop.send({ name: "shop/placed", data: { card: "4242" } });
  await gateway.waitForRun(ids[0] ?? "", (run) => run.status === "WAITING");
  await gateway.skipTime("2h");
  const run = await gateway.waitForRun(ids[0] ?? ""); // until it has ended
  expect(run).toMatchObject({ status: "COMPLETED", output: "4242 shipped" });
});
// end of the example

test("the README contains exactly this example", () => {
  const source = readFileSync(new URL(import.meta.url), "utf8");
  const example = /\/\/ example\n(.*?)\/\/ end of the example/s.exec(source)?.[1]?.trim() ?? "none";
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  expect(readme).toContain(`\`\`\`ts\n${example}\n\`\`\``);
});
