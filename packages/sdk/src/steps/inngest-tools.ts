/** Tools of `step` in the package `inngest` that do not exist here: reading one says what to do instead. */
import { HoldfastError } from "@holdfast/core";

/** By name; each text follows "step.name does not exist in Holdfast: ". */
const INSTEAD: Readonly<Record<string, string>> = {
  ai: 'call the model\'s provider inside step.run(), as in step.run("ask", () => provider.ask(prompt))',
  realtime:
    'publish inside step.run(), as in step.run("tell", () => publisher.publish(update)), or follow the run from outside with app.runs.follow()',
  metadata: 'store it where you need it, inside step.run("note", ...)',
  score: 'store the score where you need it, inside step.run("score", ...)',
  sandbox: 'call the sandbox\'s provider inside step.run("in the sandbox", ...)',
};

const missing = (tool: string): PropertyDescriptor => ({
  get(): never {
    throw new HoldfastError("STEP_INVALID", `step.${tool} does not exist in Holdfast: ${INSTEAD[tool]}.`);
  },
});

/**
 * The prototype of every `step`: getters of each object's own would cost every pass microseconds. What lists, copies or
 * prints the tools does not read it.
 */
export const INNGEST_TOOLS: object = Object.defineProperties(
  {},
  Object.fromEntries(Object.keys(INSTEAD).map((tool) => [tool, missing(tool)])),
);
