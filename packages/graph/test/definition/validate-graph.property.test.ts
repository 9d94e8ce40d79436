import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import { validateGraph } from "../../src/definition.ts";

const word = fc.constantFrom(
  ...["start", "end", "loop", "condition", "a", "b", "done", "error", "else", "__proto__", "constructor", "", "a b"],
);
const loose = <T>(sound: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 8, arbitrary: sound }, { weight: 1, arbitrary: fc.jsonValue() });
const node = loose(
  fc.record(
    {
      id: loose(word),
      type: loose(word),
      config: loose(fc.dictionary(word, fc.jsonValue())),
      outputVariable: loose(word),
      joinMode: loose(fc.constantFrom("all", "any")),
      retries: loose(fc.integer({ min: -1, max: 30 })),
      compensate: loose(fc.record({ type: word })),
    },
    { requiredKeys: ["id", "type"] },
  ),
);
const edge = loose(fc.record({ from: word, to: word, handle: word }, { requiredKeys: ["from", "to"] }));
const graph = loose(
  fc.record({
    id: loose(word),
    title: loose(word),
    nodes: loose(fc.array(node, { maxLength: 8 })),
    edges: loose(fc.array(edge, { maxLength: 12 })),
    input: fc.jsonValue(),
    trigger: fc.jsonValue(),
  }),
);

test("whatever JSON comes in, all that is said of it is problems with a fix", () => {
  fc.assert(
    fc.property(graph, (given) => {
      for (const { code, message, fix } of validateGraph(given)) {
        expect(code).toMatch(/^[A-Z_]+$/);
        expect(message.length).toBeGreaterThan(0);
        expect(fix.length).toBeGreaterThan(0);
      }
    }),
    { numRuns: runs(2_000) },
  );
});
