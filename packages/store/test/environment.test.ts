import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../tooling/src/runs.ts";
import { DEFAULT_ENVIRONMENT, environmentOf, plainName, qualify } from "../src/index.ts";

/** Pieces of which names that look like qualified ones are made. */
const name = fc.oneof(
  fc.array(fc.constantFrom("@@", "@", ":", "a", "preview", "/"), { maxLength: 5 }).map((parts) => parts.join("")),
  fc.string(),
);
/** As keys name them: no ":". */
const environment = fc
  .oneof(fc.constantFrom("", "a", "preview", "@@"), fc.string())
  .map((text) => text.replaceAll(":", ""));

test("ENV-1: different pairs of environment and name give different texts, and each text gives its pair back", () => {
  const pair = fc.tuple(environment, name);
  fc.assert(
    fc.property(pair, pair, (one, other) => {
      const text = qualify(...one);
      expect([environmentOf(text), plainName(text)]).toEqual(one);
      expect(text === qualify(...other)).toBe(one[0] === other[0] && one[1] === other[1]);
    }),
    {
      numRuns: runs(1000),
      examples: [
        [
          ["", "@@a:b"],
          ["a", "b"],
        ],
      ],
    },
  );
});

test("ENV-2: names of the default environment are unchanged", () => {
  fc.assert(
    fc.property(name, (text) => {
      fc.pre(!text.startsWith("@@"));
      expect(qualify(DEFAULT_ENVIRONMENT, text)).toBe(text);
    }),
    { numRuns: runs(1000) },
  );
});
