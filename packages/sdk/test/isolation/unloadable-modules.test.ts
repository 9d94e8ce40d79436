import { rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { LoggerLike } from "@holdfast/core";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../tooling/src/processes.mjs";
import { Holdfast } from "../../src/app/holdfast.ts";
import { isolated } from "../../src/steps/isolated.ts";
import { FunctionTest } from "../../src/testing.ts";
import { failureOf, isolatedModule, resultOf, testPool } from "./pool-harness.ts";

const quiet: LoggerLike = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const client = new Holdfast({ id: "app", isDev: true, logger: quiet });
const event = { name: "app/go", data: {} };

function moduleOf(name: string): { readonly path: string; readonly url: string } {
  const { path: folder, remove } = temporaryFolder("holdfast-unloadable-");
  onTestFinished(remove);
  const path = join(folder, name);
  return { path, url: pathToFileURL(path).href };
}

describe("FunctionTest with real isolation, of a body whose module no thread can load", () => {
  const { url, path } = { url: "file:///nowhere/missing.mjs", path: "/nowhere/missing.mjs" };
  const lost = isolated(url, "lost", () => 1);
  const fn = client.createFunction({ id: "fails", triggers: { event: "app/go" } }, ({ step }) =>
    step.run("lost", lost),
  );
  const swallows = client.createFunction({ id: "swallows", triggers: { event: "app/go" } }, ({ step }) =>
    step.run("lost", lost).catch(() => "fine"),
  );
  const invokes = client.createFunction({ id: "invokes", triggers: { event: "app/go" } }, ({ step }) =>
    step.invoke("inner", { function: swallows }),
  );

  test.each([
    ["fails with it", fn],
    ["swallows the error", swallows],
    ["invokes the one that does", invokes],
  ])("a function that %s rejects run(), with the module's path and the cause", async (_, tested) => {
    const run = new FunctionTest(tested, { event, functions: [swallows], isolation: "real" }).run();
    await expect(run).rejects.toMatchObject({
      code: "ISOLATE_MODULE_INVALID",
      message: expect.stringMatching(
        `^The module of isolated code could not be evaluated in a thread of the pool: ${path}: Cannot find module '${path}'. There is no such file: a bundler has probably replaced \`import.meta.url\`. .*pathToFileURL`,
      ),
    });
  });

  test("runUntil() rejects, too; a test that answers the step needs no module", async () => {
    const options = { event, isolation: "real" } as const;
    const until = new FunctionTest(swallows, options).runUntil("lost");
    await expect(until).rejects.toMatchObject({ code: "ISOLATE_MODULE_INVALID" });
    const run = await new FunctionTest(fn, { ...options, steps: [{ id: "lost", handler: () => 2 }] }).run();
    expect(run).toMatchObject({ status: "completed", output: 2 });
  });
});

test.each([
  ["a CommonJS package", "commonjs"],
  ["an ESM package", "module"],
])("TypeScript of %s that a thread cannot read is refused with what to do", async (_, type) => {
  const { path, url } = moduleOf("code.ts");
  await writeFile(join(dirname(path), "package.json"), JSON.stringify({ type }));
  // Types alone are what newer versions of Node strip by themselves.
  await writeFile(path, 'enum Size { Small }\nimport "./other.js";\nexport const size: Size = Size.Small;\n');
  await using made = await testPool();
  const load = made.pool.load([{ kind: "body", module: url, name: "size" }]);
  await expect(load).rejects.toMatchObject({
    code: "ISOLATE_MODULE_INVALID",
    message: expect.stringContaining('test: { execArgv: ["--import", "tsx"] }'),
  });
  await expect(load).rejects.toThrow(path);
});

test("what a module lacks besides is not put down to its loader", async () => {
  const { path, url } = moduleOf("code.mjs");
  await writeFile(path, 'import "no-such-package-of-anyone";\n');
  await using made = await testPool();
  const load = made.pool.load([{ kind: "body", module: url, name: "size" }]);
  await expect(load).rejects.toThrow(/Cannot find package 'no-such-package-of-anyone'/);
  await expect(load).rejects.not.toThrow(/execArgv|There is no such file/);
});

test("POOL-13: a thread in which a module could not be evaluated gets no further turn: another one takes its place", async () => {
  const { path: flag } = moduleOf("away");
  await using code = await isolatedModule(`
    import { existsSync } from "node:fs";
    if (existsSync(${JSON.stringify(flag)})) throw new Error("the database is away");
    isolated(import.meta.url, "work", () => "done");
  `);
  await using made = await testPool();
  await writeFile(flag, "");
  const failed = failureOf(await made.run(code.url, "work"));
  expect(failed).toMatchObject({ code: "ISOLATE_MODULE_INVALID", message: expect.stringContaining("is away") });
  await rm(flag);
  expect(resultOf(await made.run(code.url, "work"))).toBe("done");
  expect(resultOf(await made.run(code.url, "work"))).toBe("done");
  expect(made.pool.debugState()).toMatchObject({ recycled: 1, crashes: 0 });
  expect(made.logs).toEqual([]);
});
