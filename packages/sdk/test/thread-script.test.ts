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

test("the thread script is small, and a stack of it names functions and classes as the sources do", async () => {
  const script = await loadThreadScript();
  for (const name of ["LinkDriver=class", "function decideAcceptance(", "RequestManager=class"]) {
    expect(script).toContain(name);
  }
  const longest = Math.max(...script.split("\n").map((line) => line.length));
  expect(longest, "characters of its longest line").toBeLessThan(2_000);
});
