import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { subjectProblem, subjectsSince } from "../src/subjects.mjs";
import { fixture } from "./fixture.ts";

test.each([
  "sdk: a lost reply is sent again",
  "gateway-mock: x",
  "sdk, docs: x",
  `docs: ${"x".repeat(66)}`,
  "Merge branch 'a'",
  'Revert "sdk: x"',
  "fixup! sdk: x",
])("the commit subject %s is accepted", (subject) => {
  expect(subjectProblem(subject)).toBe("");
});

test.each([
  ["A lost reply is sent again", /area/],
  ["SDK: x", /area/],
  ["sdk:x", /area/],
  ["sdk: ", /area/],
  [`docs: ${"x".repeat(67)}`, /longer than 72/],
])("the commit subject %s is rejected", (subject, problem) => {
  expect(subjectProblem(subject)).toMatch(problem);
});

test("only commits made after the rule are checked, also in a shallow clone", () => {
  const folder = fixture({});
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", "-C", folder, ...args], {
      encoding: "utf8",
    });
  expect(subjectsSince(folder, "rule"), "no git").toEqual([]);
  git("init", "--quiet");
  git("commit", "--quiet", "--allow-empty", "-m", "Before any rule");
  expect(subjectsSince(folder, "rule"), "no rule").toEqual([]);
  writeFileSync(join(folder, "rule"), "");
  git("add", ".");
  git("commit", "--quiet", "-m", "The rule itself");
  for (const subject of ["a: first", "Second"]) git("commit", "--quiet", "--allow-empty", "-m", subject);
  const subjects = (where: string): string[] => subjectsSince(where, "rule").map((each) => each.subject);
  expect(subjects(folder)).toEqual(["Second", "a: first"]);
  const clone = join(folder, "clone");
  git("clone", "--quiet", "--depth", "2", `file://${folder}`, clone);
  expect(subjects(clone)).toEqual(["Second"]);
});
