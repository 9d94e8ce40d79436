import { expect, test } from "vitest";
import { run } from "../src/processes.mjs";
import { impurities, isPure } from "../src/purity.mjs";
import { inRoot } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

test("the pure modules are the core without its ports, the connection machines, the engine, and all machines", () => {
  for (const path of [
    "packages/core/src/backoff.ts",
    "packages/sdk/src/connection/machines/outbox.ts",
    "packages/sdk/src/connection/main/respawn-machine.ts",
    "gateway-mock/src/ws/session-machine.ts",
    "packages/engine/src/decide/decide.ts",
    "packages/engine/src/run/fold.ts",
  ]) {
    expect(isPure(path), path).toBe(true);
  }
  for (const path of [
    "packages/core/src/clock.ts",
    "packages/core/src/random.ts",
    "packages/core/test/backoff.test.ts",
    "packages/sdk/src/connection/main/host.ts",
    "gateway-mock/src/dispatch/dispatcher.ts",
  ]) {
    expect(isPure(path), path).toBe(false);
  }
});

test.each([
  ["const t = Date.now();", "Date.now"],
  ["const t = Date\n  .now();", "Date.now"],
  ["const { now } = Date;", "Date"],
  ["const t = Date();", "Date"],
  ["const t = new Date();", "new Date()"],
  ["const t = new Date;", "new Date()"],
  ["const r = Math.random();", "Math.random"],
  ["const { random } = Math;", "Math"],
  ["setTimeout(() => {}, 1);", "setTimeout"],
  ["const wait = { setTimeout };", "setTimeout"],
  ["queueMicrotask(f);", "queueMicrotask"],
  ["const p = process.env.HOME;", "process"],
  ["const id = crypto.randomUUID();", "crypto"],
  ["const f = globalThis.setTimeout;", "globalThis"],
  ["const t = performance?.now();", "performance"],
  ["const u = import.meta.url;", "import.meta"],
  ["function f(a = fetch) {}", "fetch"],
])("the code %j is impure", (code, name) => {
  expect(impurities("x.ts", `\n${code}`)).toEqual([`x.ts:2 ${name}`]);
});

test.each([
  "const isDate = value instanceof Date;",
  "const d = new Date(ms).toISOString();",
  "const d = Date.UTC(2026, 1);",
  "const m = Math.max(1, 2);",
  "timers.setTimeout(f, 1);",
  "interface Timers { setTimeout(run: () => void, ms: number): unknown; fetch: typeof fetch }",
  "const port: { process: number } = { process: 1 };",
  "class Machine { process(): void {} }",
  "// Date.now() and setTimeout are not for here",
  'const text = "Math.random()";',
])("the code %j is pure", (code) => {
  expect(impurities("x.ts", code)).toEqual([]);
});

test("the purity gate fails on a planted violation and names it", async () => {
  const check = (text: string) =>
    run(process.execPath, [inRoot("packages/tooling/src/purity.mjs"), fixture({ "packages/core/src/ids.ts": text })], {
      output: "collect",
    });
  expect(await check("export const now = (nowMs: number) => nowMs;")).toMatchObject({ code: 0, output: "" });
  const bad = await check("export const now = () => Date.now();");
  expect(bad.code).toBe(1);
  expect(bad.output).toContain("packages/core/src/ids.ts:1 Date.now");
});

test("the purity gate fails when it finds nothing to check", async () => {
  const folder = fixture({ "packages/other/src/a.ts": "" });
  const { code } = await run(process.execPath, [inRoot("packages/tooling/src/purity.mjs"), folder], {
    output: "collect",
  });
  expect(code).toBe(1);
});
