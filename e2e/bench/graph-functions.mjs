/** The same work as graphs and as functions, for the scenario that compares them. */
import { graphs, nodeType } from "@holdfast/graph";

/** Anything goes. @type {any} */
const anything = {
  "~standard": { version: 1, vendor: "bench", validate: (/** @type {unknown} */ value) => ({ value }) },
};

/**
 * @param {import("holdfast").Holdfast} client
 * @param {() => void} finish
 */
export function graphFunctions(client, finish) {
  const work = (/** @type {boolean} */ isLast) => {
    if (isLast) finish();
    return 1;
  };
  const define = (/** @type {string} */ id, /** @type {(step: any) => Promise<unknown>} */ body) =>
    client.createFunction({ id, triggers: { event: `${client.id}/${id}` } }, ({ step }) => body(step));
  const node = nodeType({ type: "work", config: anything, run: ({ config }) => work(config.last === true) });
  return [
    graphs(client, { nodeTypes: [node] }).runner,
    define("function-chain", async (step) => {
      for (let index = 0; index < 5; index += 1) await step.run(`n${index}`, () => work(index === 4));
    }),
    define("function-fan", async (step) => {
      await Promise.all(Array.from({ length: 100 }, (_, index) => step.run(`n${index}`, () => work(false))));
      await step.run("last", () => work(true));
    }),
  ];
}
