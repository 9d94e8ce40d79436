import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { changedLines, compare } from "../src/api-report.mjs";
import { table } from "../src/matrix/table.mjs";
import { addressProblem, writeAddress } from "../src/release-address.mjs";
import { releaseVersion } from "../src/release-version.mjs";
import { inRoot, publishedPackages } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

test("a changeset for one package bumps all published packages to the same version, and no private one", async () => {
  const manifests = ["packages/sdk", "packages/graph", "packages/testing", "packages/core", "gateway-mock"];
  const copied = ["package.json", "pnpm-workspace.yaml", ".changeset/config.json"];
  const files = [...copied, ...manifests.map((folder) => `${folder}/package.json`)].map((path) => [
    path,
    readFileSync(inRoot(path), "utf8").replaceAll(/"version": "0\.\d+\.\d+"/g, '"version": "0.1.0"'),
  ]);
  const folder = fixture({
    ...Object.fromEntries(files),
    ".changeset/one.md": '---\n"@holdfast/testing": minor\n---\n\nSomething new.\n',
    "packages/sdk/src/version.ts": 'export const SDK_VERSION = "0.1.0";\n',
    "gateway-mock/src/version.ts": 'export const VERSION = "0.1.0";\n',
  });
  expect(await releaseVersion(folder)).toEqual(publishedPackages.map((name) => `${name} 0.2.0`));
  const text = (path: string): string => readFileSync(join(folder, path), "utf8");
  expect(text("packages/sdk/src/version.ts")).toBe('export const SDK_VERSION = "0.2.0";\n');
  expect(text("gateway-mock/src/version.ts")).toBe('export const VERSION = "0.2.0";\n');
  expect(text("packages/testing/CHANGELOG.md")).toContain("Something new.");
  expect(JSON.parse(text("packages/core/package.json")).version).toBe("0.1.0");
});

test("a changed API is reported line by line, with what to do", () => {
  const report = { entry: "holdfast", file: "etc/holdfast.api.md", text: "a\nnew?: string;\nb" };
  expect(compare(report, report.text)).toBe("");
  const problem = compare(report, "a\nold: string;\nb");
  for (const part of ["- old: string;", "+ new?: string;", "npm run api:report"]) expect(problem).toContain(part);
  expect(compare(report, undefined)).toContain("not been written");
  expect(compare(report, "b\nnew?: string;\na")).toContain("order");
  expect(changedLines("a\nb", "a\nb")).toEqual([]);
});

test("an empty cell of the release table shows a dash", () => {
  const cells = [
    { row: "ESM", column: "Node 20", text: "ok 1.0 s" },
    { row: "strip", column: "Node 22", text: "FAILED" },
  ];
  expect(table("environment", cells).split("\n")).toEqual([
    "| environment | Node 20  | Node 22 |",
    "|-------------|----------|---------|",
    "| ESM         | ok 1.0 s | -       |",
    "| strip       | -        | FAILED  |",
  ]);
});

test("no package is published before it says where the project is, and one command says it in all of them", () => {
  const paths = publishedPackages.map((folder) => `${folder}/package.json`);
  const folder = fixture(Object.fromEntries(paths.map((path) => [path, readFileSync(inRoot(path), "utf8")])));
  const problems = (): string[] => publishedPackages.map((name) => addressProblem(join(folder, name), folder));
  for (const problem of problems())
    expect(problem).toContain("cannot be published without repository, homepage, bugs.");
  expect(() => writeAddress("git.example.org", folder)).toThrow("is no https address");
  expect(writeAddress("https://git.example.org/team/holdfast.git/", folder)).toEqual(publishedPackages);
  expect(problems().join("")).toBe("");
  const manifest = (path: string) => JSON.parse(readFileSync(join(folder, path), "utf8"));
  expect(manifest("packages/sdk/package.json")).toMatchObject({
    homepage: "https://git.example.org/team/holdfast#readme",
    bugs: { url: "https://git.example.org/team/holdfast/issues" },
    repository: { url: "git+https://git.example.org/team/holdfast.git", directory: "packages/sdk" },
    author: "The Holdfast contributors",
  });
  // Nothing else has changed, and writing it again changes nothing.
  for (const path of paths) {
    const { homepage: _, bugs: _bugs, repository: _repository, ...rest } = manifest(path);
    expect(rest).toEqual(JSON.parse(readFileSync(inRoot(path), "utf8")));
    expect(rest.scripts.prepublishOnly).toMatch(/release-address\.mjs --check$/);
  }
  const before = paths.map((path) => readFileSync(join(folder, path), "utf8"));
  writeAddress("https://git.example.org/team/holdfast", folder);
  expect(paths.map((path) => readFileSync(join(folder, path), "utf8"))).toEqual(before);
});
