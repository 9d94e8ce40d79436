import { expect, test } from "vitest";
import { run } from "../src/processes.mjs";
import { checkNode } from "../src/setup.mjs";
import { inRoot } from "../src/workspace.mjs";

test.each(["20.19.0", "20.20.2", "21.0.0", "22.0.0", "24.1.0"])("Node %s is accepted", (version) => {
  expect(() => checkNode(version)).not.toThrow();
});

test.each(["18.20.4", "20.18.1", "20.9.0", "16.0.0"])("Node %s is rejected in one sentence", (version) => {
  expect(() => checkNode(version)).toThrow(`Holdfast needs Node 20.19 or newer; this is Node ${version}.`);
});

test("set-up imports only modules of Node, because it runs before installation", async () => {
  const loaded = new Set<string>();
  const visit = async (path: string): Promise<void> => {
    if (loaded.has(path)) return;
    loaded.add(path);
    const { readFileSync } = await import("node:fs");
    const text = readFileSync(inRoot(`packages/tooling/src/${path}`), "utf8");
    for (const [, module = ""] of text.matchAll(/^import .*?from "(.+?)";$|^} from "(.+?)";$/gms)) {
      if (module.startsWith("./")) await visit(module.slice(2));
      else expect(module, path).toMatch(/^node:/);
    }
  };
  await visit("setup.mjs");
  await visit("test.mjs");
  expect(loaded.size).toBeGreaterThan(4);
});

test("a repeated set-up does nothing and says so", async () => {
  const setup = () => run(process.execPath, [inRoot("packages/tooling/src/setup.mjs")], { output: "collect" });
  expect(await setup()).toMatchObject({ code: 0, output: expect.stringContaining("Ready") });
  const { code, output } = await setup();
  expect(code).toBe(0);
  expect(output.trim()).toMatch(/^Ready: .*$/);
});
