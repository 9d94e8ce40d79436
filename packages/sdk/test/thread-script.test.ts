import { builtinModules } from "node:module";
import { expect, test } from "vitest";
import { loadThreadScript } from "../src/thread-script.ts";

test("the thread script is built once, is complete, and imports only modules of Node", async () => {
  const script = await loadThreadScript();
  expect(await loadThreadScript()).toBe(script);
  const required = [...script.matchAll(/\brequire\d*\("([^"]+)"\)/g)].map(([, name = ""]) => name);
  expect(required.length).toBeGreaterThan(0);
  const foreign = required.filter((name) => !name.startsWith("node:") && !builtinModules.includes(name));
  expect([...new Set(foreign)]).toEqual([]);
});
