import { expect, test } from "vitest";
import { graphOf, runGraph } from "./run-graph.ts";

const each = { id: "each", type: "loop", config: { items: "{{ctx.input.rows}}" } };
const wait = { id: "wait", type: "delay", config: { duration: "1s" } };

test.each([
  [{ secret: 1 }, "an object"],
  [null, "null"],
  ["secret", "a text"],
  [7, "a number"],
  [true, "a boolean"],
])("a loop whose items come to %j fails and says which items of which loop", async (rows, what) => {
  const { error } = await runGraph(graphOf([each, wait], "start -> each; each.loop -> wait"), { input: { rows } });
  const { message } = error as Error;
  expect(message).toContain(`\`items\` of the loop "each" must come to a list; "{{ctx.input.rows}}" came to ${what}.`);
  expect(message).not.toContain("secret");
});
