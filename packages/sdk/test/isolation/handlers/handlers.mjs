import { existsSync } from "node:fs";

export const text = "no function";
export const logging = async ({ step, logger }) => {
  logger.info("in the handler", { n: 1 });
  await step.run("one", () => logger.warn({ given: true, fn: () => {} }, "in the step"));
};
export const hello = () => "hello";
export const waiting = ({ step }) =>
  step.run("wait", () => new Promise((resolve) => setTimeout(resolve, 300, "waited")));
export const gated = async ({ event }) => {
  while (!existsSync(event.data.gate)) await new Promise((resolve) => setTimeout(resolve, 20));
};
export const failing = ({ step }) =>
  step.run("charge", () => {
    throw new TypeError("no such card");
  });
export const lossy = ({ step }) => step.run("count", () => ({ tags: new Set() }));
