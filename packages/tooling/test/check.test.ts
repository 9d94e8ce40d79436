import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { changedFiles } from "../src/changes.mjs";
import { partsFor } from "../src/check.mjs";
import { fixture } from "./fixture.ts";

const names = (changed: readonly string[] | undefined): string[] => partsFor(changed).map(({ name }) => name);
const argsOf = (changed: readonly string[] | undefined, name: string): string[] =>
  partsFor(changed).find((part) => part.name === name)?.args ?? [];

test("changed files are new files and those that differ from the last commit, except deleted and ignored ones", () => {
  const folder = fixture({
    ".gitignore": "ignored.ts",
    "same.ts": "",
    "staged.ts": "",
    "edited.ts": "",
    "gone.ts": "",
  });
  const git = (...args: string[]): string => execFileSync("git", ["-C", folder, ...args], { encoding: "utf8" });
  expect(changedFiles(folder), "no git").toBeUndefined();
  git("init", "--quiet");
  expect(changedFiles(folder), "no commit yet").toBeUndefined();
  git("add", ".");
  git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "a");
  expect(changedFiles(folder)).toEqual([]);
  for (const name of ["staged.ts", "edited.ts", "new ü.ts", "ignored.ts"]) writeFileSync(join(folder, name), "1");
  git("add", "staged.ts");
  rmSync(join(folder, "gone.ts"));
  expect(changedFiles(folder)).toEqual(["edited.ts", "new ü.ts", "staged.ts"]);
});

test("the check covers changed files only, and types as a whole", () => {
  expect(names([])).toEqual(["types"]);
  expect(names(["README.md"])).toEqual(["types", "format"]);
  expect(names(["packages/sdk/src/a.ts"])).toEqual(["types", "tests", "format", "size"]);
  expect(argsOf(["a.ts", "b.json"], "size")).toContain("a.ts");
  expect(argsOf(["a.ts", "b.json"], "size")).not.toContain("b.json");
  const generated = "packages/protocol/src/generated/connect.ts";
  expect(names([generated]), "tests depend on what is generated, its format is no one's concern").not.toContain("size");
  expect(argsOf([generated], "tests")).toContain(generated);
});

test("the check covers everything when there is no list of changes", () => {
  expect(names(undefined).sort()).toEqual(["format", "size", "tests", "types"]);
  expect(argsOf(undefined, "tests")).not.toContain("related");
});
