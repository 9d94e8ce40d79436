import { expect, test } from "vitest";
import { blindCasts, longLines, machinePaths, missingHeaders, registryHosts, stopwatches } from "../src/hygiene.mjs";
import { run } from "../src/processes.mjs";
import { inRoot } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

// Put together here, so that this file keeps the rules that it tests.
const home = ["", "home", "somebody"].join("/");
const mac = ["", "Users", "somebody", "code"].join("/");
const rootHome = ["", "root", ".npm"].join("/");
const host = ["https://registry", "example.com"].join(".");

test("registry hosts are found in the lockfile and in configuration", () => {
  const bad = [
    { path: "pnpm-lock.yaml", text: `resolution: {tarball: ${host}/a.tgz}` },
    { path: ".npmrc", text: `registry=${host}` },
    { path: "packages/a/package.json", text: `"publishConfig": { "registry": "${host}" }` },
    { path: "e2e/vitest.config.ts", text: `const url = "${host}";` },
  ];
  expect(registryHosts(bad)).toHaveLength(bad.length);
  const good = [
    { path: "pnpm-lock.yaml", text: "resolution: {integrity: sha512-abc}\n'@opentelemetry/exporter-http@1.0.0':" },
    { path: "package.json", text: '"homepage": "https://example.com"' },
  ];
  expect(registryHosts(good)).toEqual([]);
});

test("paths of a machine are found in any text", () => {
  for (const path of [home, mac, rootHome]) {
    expect(machinePaths([{ path: "README.md", text: `see ${path}/file` }]), path).toHaveLength(1);
    expect(machinePaths([{ path: "a.ts", text: `const p = "${path}";` }]), path).toHaveLength(1);
  }
  const good = ["the workspace root", "packages/root/a", "https://example.com/work/home", "/homework", "a/work/b"];
  for (const text of good) expect(machinePaths([{ path: "README.md", text }]), text).toEqual([]);
});

test("casts through unknown are found in product code, wherever their lines break", () => {
  const path = "packages/a/src/a.ts";
  const cast = ["x as", "unknown as Y"].join(" ");
  expect(blindCasts([{ path, text: `\nconst y = ${cast};` }])).toEqual([`${path}:2`]);
  expect(blindCasts([{ path, text: `const y = (${cast.replace("unknown ", "unknown)\n  ")};` }])).toEqual([
    `${path}:1`,
  ]);
  for (const text of ["const y = x as Y;", "type Z = unknown;", "const u = x as unknown;"]) {
    expect(blindCasts([{ path, text }]), text).toEqual([]);
  }
  expect(blindCasts([{ path: "packages/a/test/a.test.ts", text: cast }])).toEqual([]);
});

test("long lines are found in Markdown, except in tables, code and link definitions", () => {
  const long = "x".repeat(121);
  const find = (text: string) => longLines([{ path: "docs/a.md", text }]);
  expect(find(`a\n${long}`)).toEqual(["docs/a.md:2"]);
  for (const text of [long.slice(1), `| ${long} |`, `[a]: ${long}`, `\`\`\`\n${long}\n\`\`\``]) {
    expect(find(text), text).toEqual([]);
  }
  expect(longLines([{ path: "a.ts", text: long }])).toEqual([]);
});

test("source files of more than a few lines begin with a comment, unless they are types alone", () => {
  const find = (text: string, path = "packages/a/src/a.ts") => missingHeaders([{ path, text }]);
  const filler = "\n".repeat(50);
  const code = `import { a } from "./a.ts";${filler}export function f() {}\n`;
  expect(find(code)).toEqual(["packages/a/src/a.ts:1"]);
  expect(find(`#!/usr/bin/env node\n${code}`)).toEqual(["packages/a/src/a.ts:1"]);
  expect(find(code.replace("f() {}", "f() {} // not a header"))).toEqual(["packages/a/src/a.ts:1"]);
  for (const text of [
    `/** What it owns. */\n${code}`,
    `#!/usr/bin/env node\n/** What it owns. */\n${code}`,
    code.replace(filler, "\n"),
    `import type { A } from "./a.ts";${filler}export interface B {}\n`,
  ]) {
    expect(find(text), text).toEqual([]);
  }
  for (const path of ["packages/a/test/a.test.ts", "packages/a/src/generated/a.d.ts", "packages/a/src/a.mjs"]) {
    expect(find(code, path), path).toEqual([]);
  }
});

test("upper limits of time are found in tests", () => {
  const path = "packages/a/test/a.test.ts";
  const less = "toBeLessThan";
  for (const text of [
    `expect(performance.now() - from).${less}(9000);`,
    `expect(Date.now() - from, "so long").${less}OrEqual(5);`,
    `expect(elapsedMs).${less}(1)`,
    `expect(tookMs).${less}(1)`,
  ]) {
    expect(stopwatches([{ path, text }]), text).toHaveLength(1);
    expect(stopwatches([{ path: "packages/a/src/a.ts", text }]), text).toEqual([]);
  }
  for (const text of ["expect(Date.now() - from).toBeGreaterThanOrEqual(1000);", `expect(turns).${less}(10);`]) {
    expect(stopwatches([{ path, text }]), text).toEqual([]);
  }
});

test("each of the hygiene gates fails on planted violations", async () => {
  const folder = fixture({
    "README.md": `Look into ${home}/notes\n${"x".repeat(121)}`,
    "pnpm-lock.yaml": `tarball: ${host}/a.tgz`,
    "src/a.ts": ["x as", "unknown as Y"].join(" "),
    "src/b.ts": `import "./a.ts";${"\n".repeat(50)}const b = 1;`,
    "test/a.test.ts": ["expect(performance.now() - from)", "toBeLessThan(9);"].join("."),
  });
  for (const [gate, file] of [
    ["registry", "pnpm-lock.yaml:1"],
    ["paths", "README.md:1"],
    ["casts", "src/a.ts:1"],
    ["wrap", "README.md:2"],
    ["headers", "src/b.ts:1"],
    ["stopwatches", "test/a.test.ts:1"],
  ] as const) {
    const args = [inRoot("packages/tooling/src/hygiene.mjs"), gate, folder];
    const { code, output } = await run(process.execPath, args, { output: "collect" });
    expect(code, gate).toBe(1);
    expect(output).toContain(file);
  }
});
