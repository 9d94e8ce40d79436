/** Servers in pool threads: what loading a module may not do there, and what isolated code may. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { isPoolThread } from "../../src/isolate.ts";
import { failureOf, isolatedModule, resultOf, testPool } from "./pool-harness.ts";

test("isolated code may open a server, and a module may listen on a pipe or have a server that does not listen", async () => {
  await using code = await isolatedModule(`
    import { createServer } from "node:http";
    import { fileURLToPath } from "node:url";
    const loaded = createServer((_, response) => response.end("served"));
    const pipe = createServer().listen(fileURLToPath(new URL("pipe", import.meta.url))).unref();
    createServer().listen({ path: fileURLToPath(new URL("other-pipe", import.meta.url)) }).unref();
    isolated(import.meta.url, "serve", async (...given) => {
      await new Promise((resolve) => loaded.listen(...given, resolve));
      const text = await (await fetch("http://127.0.0.1:" + loaded.address().port)).text();
      loaded.closeAllConnections();
      await new Promise((resolve) => loaded.close(resolve));
      return text;
    });
  `);
  await using made = await testPool({ threads: 1 });
  for (const args of [[0, "127.0.0.1"], ["0"], [{ port: 0 }], []]) {
    expect(resultOf(await made.run(code.url, "serve", { args }))).toBe("served");
  }
  expect(made.pool.debugState()).toMatchObject({ crashes: 0 });
});

test.each([
  ["3000", "3000"],
  ["{ port: 3000 }", "3000"],
  ["{ port: undefined }", "0"],
  ["() => {}", "0"],
  ["", "0"],
])("a module that calls listen(%s) when it is loaded is refused, with the port", async (args, port) => {
  await using code = await isolatedModule(`
    import { createServer } from "node:net";
    isolated(import.meta.url, "one", () => 1);
    createServer().listen(${args});
  `);
  await using made = await testPool({ threads: 1 });
  const { code: refused, message } = failureOf(await made.run(code.url, "one"));
  expect(refused).toBe("ISOLATE_LISTEN");
  expect(message).toContain(
    `The module ${fileURLToPath(code.url)} starts a server when it is loaded, on port ${port}, and a thread of the pool loads it, too.`,
  );
});

test.each([
  [
    "lets the error pass",
    "createServer().listen(3000);",
    /unhandled rejection ended its thread: The module .*code\.mjs starts(?!.*after this)/,
  ],
  [
    "ends its process",
    "try { createServer().listen(3000); } catch { process.exit(1); }",
    /process\.exit\(1\) was called, after this: The module .*code\.mjs starts/,
  ],
])("where a module starts its server later on and %s, the end of the thread names it", async (_, source, message) => {
  await using code = await isolatedModule(`
    import { createServer } from "node:http";
    let open;
    new Promise((resolve) => { open = resolve; }).then(() => { ${source} });
    isolated(import.meta.url, "late", () => {
      open();
      return new Promise(() => {});
    });
  `);
  await using made = await testPool({ threads: 1 });
  const failure = failureOf(await made.run(code.url, "late"));
  expect(failure.code).toBe("ISOLATE_THREAD_LOST");
  expect(failure.message).toMatch(message);
});

test("isPoolThread is true in the preloads of a pool thread, and false in other threads", async () => {
  await using code = await isolatedModule("");
  const script = readFileSync(new URL("isolate.cjs", code.url), "utf8");
  const asked = async (workerData: unknown): Promise<unknown> => {
    const source = `${script}\nrequire("node:worker_threads").parentPort.postMessage(module.exports.isPoolThread);`;
    const worker = new Worker(source, { eval: true, workerData });
    onTestFinished(async () => void (await worker.terminate()));
    return new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  };
  expect(isPoolThread).toBe(false);
  expect(await asked({ isPoolThread: true })).toBe(true);
  expect(await asked({ slot: 1 })).toBe(false);
  expect(await asked(undefined)).toBe(false);
});
