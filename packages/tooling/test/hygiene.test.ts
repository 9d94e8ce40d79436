import { expect, test } from "vitest";
import { machinePaths, registryHosts } from "../src/hygiene.mjs";
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

test("both gates fail on planted violations", async () => {
  const folder = fixture({ "README.md": `Look into ${home}/notes`, "pnpm-lock.yaml": `tarball: ${host}/a.tgz` });
  for (const [gate, file] of [
    ["registry", "pnpm-lock.yaml:1"],
    ["paths", "README.md:1"],
  ] as const) {
    const args = [inRoot("packages/tooling/src/hygiene.mjs"), gate, folder];
    const { code, output } = await run(process.execPath, args, { output: "collect" });
    expect(code, gate).toBe(1);
    expect(output).toContain(file);
  }
});
