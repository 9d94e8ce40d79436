import { expect, test } from "vitest";
import { checkInvariants } from "../src/invariants.mjs";
import { run } from "../src/processes.mjs";
import { inRoot } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

const source = (text: string, path = "packages/a/src/a.ts") => ({ path, text: `/**\n${text}\n */\n` });
const tests = (text: string) => [{ path: "packages/a/test/a.test.ts", text }];
const three = source(" * DOOR-1. It opens.\n * DOOR-2. It closes.\n * DOOR-3. It does both.");

test("labels count as cited alone, in a range and in rows of cases", () => {
  const cited = 'it("DOOR-1: opens", f); test("DOOR-2 to DOOR-3 hold", f);';
  expect(checkInvariants([three], tests(cited), new Set())).toEqual([]);
  const rows = 'it.each([["DOOR-1: opens"], ["DOOR-2, DOOR-3: closes"]])("%s", f);';
  expect(checkInvariants([three], tests(rows), new Set())).toEqual([]);
});

test("a label cited in no title is reported, even when a test body or a describe contains it", () => {
  const text = 'describe("DOOR-2", () => { it("DOOR-1 and DOOR-3", () => expect(1, "DOOR-2").toBe(1)); });';
  expect(checkInvariants([three], tests(text), new Set())).toEqual([
    "DOOR-2 (packages/a/src/a.ts:3) is in the title of no test.",
  ]);
});

test("a label with two sentences, and a number without a label, are reported", () => {
  const again = source(" * DOOR-1. Another one.\n * G7. Something.\n *  1. Something else.", "packages/b/src/b.ts");
  const problems = checkInvariants([three, again], tests('it("DOOR-1 to DOOR-3", f)'), new Set());
  expect(problems).toEqual([
    "packages/b/src/b.ts:2 defines DOOR-1, which packages/a/src/a.ts:2 has already.",
    "packages/b/src/b.ts:3 has a number without a label: * G7. Something.",
    "packages/b/src/b.ts:4 has a number without a label: *  1. Something else.",
  ]);
});

test("a title may cite only existing labels, and the list of uncited labels may only shrink", () => {
  expect(checkInvariants([three], tests('it("DOOR-1 to DOOR-4", f)'), new Set(["DOOR-3", "DOOR-9"]))).toEqual([
    "DOOR-3 is cited: take it off the list in invariants.mjs.",
    "A test cites DOOR-4, which is not there.",
    "DOOR-9 is on the list in invariants.mjs and nowhere else.",
  ]);
});

test("the invariants gate fails on a planted violation and names it", async () => {
  const gate = (title: string) => {
    const folder = fixture({ [three.path]: three.text, "packages/a/test/a.test.ts": `it("${title}", f);` });
    return run(process.execPath, [inRoot("packages/tooling/src/invariants.mjs"), folder], { output: "collect" });
  };
  expect(await gate("DOOR-1 to DOOR-3")).toMatchObject({ code: 0, output: "" });
  const bad = await gate("DOOR-1");
  expect(bad.code).toBe(1);
  expect(bad.output).toContain("DOOR-2");
});
