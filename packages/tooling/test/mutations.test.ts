import { expect, test } from "vitest";
import { lostMutations } from "../src/mutations.mjs";

const files: Readonly<Record<string, string>> = {
  "a.ts": "export const isOpen = (n: number): boolean => n > 0 && n < 9;",
  "b.ts": "export const twice = [1, 1];",
  "outside.ts": "export const isOpen = true;",
};
const tree = { bundled: new Set(["a.ts", "b.ts"]), read: (file: string) => files[file] ?? "" };
const lost = (...edits: { file: string; find: string; replace: string }[]): Promise<string[]> =>
  lostMutations([{ name: "guard", edits }], tree);

test("a mutation is valid if it finds its guard and leaves valid TypeScript", async () => {
  expect(await lost({ file: "a.ts", find: "n > 0 && ", replace: "" })).toEqual([]);
  // The second one of a file sees what the first one left.
  expect(
    await lost(
      { file: "a.ts", find: "n > 0 && n < 9", replace: "n > 0" },
      { file: "a.ts", find: "=> n > 0;", replace: "=> true;" },
    ),
  ).toEqual([]);
});

test("a mutation is reported if its guard is missing, not unique, or not in the simulation", async () => {
  expect(await lost({ file: "a.ts", find: "n > 1", replace: "" })).toEqual(["guard: a.ts has 0 times `n > 1`"]);
  expect(await lost({ file: "b.ts", find: "1", replace: "2" })).toEqual(["guard: b.ts has 2 times `1`"]);
  expect(await lost({ file: "outside.ts", find: "true", replace: "false" })).toEqual([
    "guard: the simulation has no outside.ts",
  ]);
  expect(await lost({ file: "moved.ts", find: "x", replace: "" })).toEqual(["guard: the simulation has no moved.ts"]);
});

test("a mutation that leaves invalid TypeScript is reported", async () => {
  const [problem, ...others] = await lost({ file: "a.ts", find: "n < 9;", replace: "" });
  expect(problem).toContain("guard: a.ts cannot be read without it");
  expect(others).toEqual([]);
});

test("two guards with the same name are reported", async () => {
  expect(
    await lostMutations(
      [
        { name: "guard", edits: [] },
        { name: "guard", edits: [] },
      ],
      tree,
    ),
  ).toEqual(["guard: there are two of it"]);
});
