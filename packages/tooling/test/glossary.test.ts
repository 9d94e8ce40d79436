import { expect, test } from "vitest";
import { bannedUses, bannedWords } from "../src/glossary.mjs";
import { run } from "../src/processes.mjs";
import { inRoot } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

const glossary =
  "# G\n\n## Words\n\n| not | but |\n|---|---|\n| `desk` | request manager |\n| `for good` | permanently |\n";
const uses = (path: string, text: string): string[] => bannedUses([{ path, text }], bannedWords(glossary));

test("the glossary's last table lists the banned words and what replaces them", () => {
  expect(bannedWords(glossary).map(({ word, instead }) => [word, instead])).toEqual([
    ["desk", "request manager"],
    ["for good", "permanently"],
  ]);
});

test.each([
  "const desk = 1;",
  "this.#desk.open();",
  "class FrontDesk {}",
  "deskOf(request);",
  "// The desk has it.",
  'throw new Error("Two desks");',
  "/** It has failed for good. */",
])("a banned word in a source is found: %s", (line) => {
  expect(uses("packages/sdk/src/a.ts", line)).toEqual([expect.stringMatching(/^packages\/sdk\/src\/a\.ts:1 "/)]);
});

test.each(["const desktop = 1;", "describeDesktop();", "/** Good for all. */"])(
  "a similar word in a source is accepted: %s",
  (line) => {
    expect(uses("packages/sdk/src/a.ts", line)).toEqual([]);
  },
);

test("banned words are searched in names of tests, in whole documents, and not in decisions", () => {
  expect(uses("gateway-mock/test/a.test.ts", 'const frontDesk = "a desk";')).toHaveLength(1);
  expect(uses("gateway-mock/test/a.test.ts", 'const place = "a desk";')).toEqual([]);
  expect(uses("docs/functions.md", "The desk.")).toHaveLength(1);
  expect(uses("docs/decisions/0001-a.md", "The desk.")).toEqual([]);
});

test("the glossary gate fails on a planted word and names its place", async () => {
  const folder = fixture({ "docs/glossary.md": glossary, "README.md": "It fails for good." });
  const args = [inRoot("packages/tooling/src/glossary.mjs"), folder];
  const { code, output } = await run(process.execPath, args, { output: "collect" });
  expect(code).toBe(1);
  expect(output).toContain('README.md:1 "for good": say permanently');
});
