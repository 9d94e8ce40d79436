import { threadId } from "node:worker_threads";

export const where = async ({ step, event }) => {
  const loaded = await step.run("load", () => ({ threadId, from: "the author" }));
  await step.sleep("nap", "1h");
  const given = await step.waitForEvent("reply", { event: "app/replied", timeout: "1d" });
  await step.sendEvent("announce", { name: "app/announced", data: { of: event.data.of } });
  const doubled = await step.run("double", (n) => 2 * n, event.data.n);
  return { threadId, loaded, given: given?.data ?? null, doubled };
};

export const spinsAfterOne = async ({ step }) => {
  await step.run("one", () => 1);
  await step.run("spin", () => {
    for (;;);
  });
};

export const spinsInHandler = () => {
  for (;;);
};

export const exits = ({ step }) => step.run("exit", () => process.exit(3));

export const rejects = ({ step }) =>
  step.run("reject", async () => {
    void Promise.reject(new Error("nothing catches this"));
    await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
    setInterval(() => {}, 1_000);
  });

export const tries = ({ step, attempt }) => step.run("try", () => ({ attempt }));
