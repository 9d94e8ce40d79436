import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { changedLines, compare } from "../src/api-report.mjs";
import { table } from "../src/matrix/table.mjs";
import { releaseVersion } from "../src/release-version.mjs";
import { inRoot } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

test("a changeset for one package bumps all published packages to the same version, and no private one", async () => {
  const manifests = ["packages/sdk", "packages/testing", "packages/core", "gateway-mock"];
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
  expect(await releaseVersion(folder)).toEqual(["packages/sdk 0.2.0", "packages/testing 0.2.0", "gateway-mock 0.2.0"]);
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
