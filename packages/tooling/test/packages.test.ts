import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorsPage } from "../src/docs-errors.ts";
import { noticesText, packageFolder } from "../src/notices.ts";
import { inspectPackage, modules } from "../src/pack-inspect.mjs";
import { fixture } from "./fixture.ts";

const good: Record<string, string> = {
  "package.json": JSON.stringify({ name: "p", dependencies: { ws: "8.0.0" } }),
  LICENSE: "text",
  "README.md": "# p",
  "dist/THIRD-PARTY-NOTICES.txt": "none",
  "dist/index.js": 'import { WebSocket } from "ws";\nimport { join } from "node:path";\nimport net from "net";',
  "dist/index.d.ts": 'export { a } from "./a.js";',
};
const problems = (files: Record<string, string>): string =>
  inspectPackage(fixture(files))
    .map(({ problem }) => problem)
    .join("");

test("a correct package passes", () => {
  expect(problems(good)).toBe("");
});

test.each([
  ["names a private package in its types", { "dist/b.d.cts": 'export type A = import("@holdfast/core").A;' }],
  ["imports what it does not declare", { "dist/b.cjs": 'const a = require("esbuild");' }],
  ["loads later what it does not declare", { "dist/b.js": 'export const a = () => import("esbuild");' }],
  ["looks like AMD", { "dist/b.cjs": 'if (typeof define === "function" && define.amd) define([], () => 1);' }],
  ["has a README with a link out of it", { "README.md": "See [limits](../../docs/limits.md)." }],
  ["has a README with a definition that leads out of it", { "README.md": "See [limits].\n\n[limits]: docs/limits.md" }],
  ["carries its sources", { "src/index.ts": "" }],
  ["carries a source map", { "dist/index.js.map": "{}" }],
  ["depends on the workspace", { "package.json": JSON.stringify({ name: "p", dependencies: { ws: "workspace:*" } }) }],
  ["declares what it does not import", { "dist/index.js": "export const a = 1;" }],
])("a package that %s is rejected", (_what, files) => {
  expect(problems({ ...good, ...files } as Record<string, string>)).not.toBe("");
});

test("links of a README may lead to the web, to a heading, and to what is in the package", () => {
  const text = "[a](https://a.test/x) [b](#here) [c](LICENSE)";
  expect(problems({ ...good, "README.md": text })).toBe("");
});

test("a package without a licence is rejected", () => {
  const folder = fixture(good);
  rmSync(join(folder, "LICENSE"));
  expect(inspectPackage(folder).map(({ problem }) => problem)).toContainEqual(expect.stringContaining("LICENSE"));
});

test("all forms of importing a module are found", () => {
  const text = `import a from "a"; export * from "b"; import c = require("c"); const d = require("d"); import("e");
export type F = import("f").F; const s = 'import "no"'; // import "no"`;
  expect(modules("x.d.ts", text).sort()).toEqual(["a", "b", "c", "d", "e", "f"]);
});

test("notices name every bundled package once, with its licence", async () => {
  expect(packageFolder("../../node_modules/.pnpm/ws@8.0.0/node_modules/ws/lib/a.js")).toBe(
    "../../node_modules/.pnpm/ws@8.0.0/node_modules/ws",
  );
  expect(packageFolder("node_modules/@scope/name/a.js")).toBe("node_modules/@scope/name");
  expect(packageFolder("../core/src/index.ts")).toBeUndefined();
  const folder = fixture({
    "a/package.json": JSON.stringify({ name: "a", version: "1.2.3", license: "MIT" }),
    "a/LICENSE": "Permission is granted.",
    "b/package.json": JSON.stringify({ name: "b", version: "1.0.0" }),
  });
  const text = await noticesText([join(folder, "a"), join(folder, "a")]);
  expect(text.match(/a 1\.2\.3/g)).toHaveLength(1);
  expect(text).toContain("Permission is granted.");
  await expect(noticesText([join(folder, "b")])).rejects.toThrow("states no licence");
});

test("the errors page lists every code with its summary and fix", () => {
  const page = errorsPage({ ONE: { summary: "It broke.", fix: "Repair it." }, TWO: { summary: "So.", fix: "Thus." } });
  for (const text of ["## ONE", "It broke.", "Repair it.", "## TWO", "So.", "Thus."]) expect(page).toContain(text);
});
