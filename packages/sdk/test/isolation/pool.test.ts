import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Clock, type PlainError, systemClock, systemTimers } from "@holdfast/core";
import { expect, test } from "vitest";
import { CancelSource } from "../../src/execution/abort.ts";
import type { TurnEnd } from "../../src/isolation/main/pool-types.ts";
import { type PoolResourceLimits, poolThreadSpawner } from "../../src/isolation/main/spawn-pool-thread.ts";
import { unpacked } from "../../src/isolation/shared/packed-messages.ts";
import { loadPoolScript } from "../../src/thread-script.ts";
import { until } from "../connection/until.ts";
import { failureOf, isolatedModule, resultOf, type TestPool, testPool } from "./pool-harness.ts";

const SPIN = `isolated(import.meta.url, "spin", () => { for (;;); });`;

test("a body runs in a thread of the pool with its arguments, and its result comes back", async () => {
  await using code = await isolatedModule(`
    import { isMainThread, threadId } from "node:worker_threads";
    isolated(import.meta.url, "add", async (a, b) => ({ sum: a + b, isMainThread, isPoolThread, threadId }));
    isolated(import.meta.url, "nothing", () => undefined);
    isolated(import.meta.url, "bytes", (bytes, date) => [bytes.length, date.getTime()]);
  `);
  await using test = await testPool();
  const first = resultOf(await test.run(code.url, "add", { args: [1, 2] })) as { threadId: number };
  expect(first).toMatchObject({ sum: 3, isMainThread: false, isPoolThread: true });
  expect(resultOf(await test.run(code.url, "add", { args: [1, 2] }))).toEqual(first);
  expect(resultOf(await test.run(code.url, "nothing"))).toBeUndefined();
  expect(resultOf(await test.run(code.url, "bytes", { args: [Buffer.alloc(100_000), new Date(7)] }))).toEqual([
    100_000, 7,
  ]);
  // The longest that travel as they are, and the shortest that do not.
  for (const text of ["x".repeat(1_024), "x".repeat(1_025)]) {
    expect(resultOf(await test.run(code.url, "add", { args: [text, undefined] }))).toMatchObject({
      sum: `${text}undefined`,
    });
  }
  expect(test.pool.debugState()).toMatchObject({ threads: 1, busy: 0, queued: 0, oldestMs: null, crashes: 0 });
  const { busy, ...shared } = test.pool.debugState();
  expect([test.pool.cells.countBusy(), test.pool.cells.readFigures(0)]).toEqual([busy, shared]);
});

test("what a body throws comes back with its own fields", async () => {
  await using code = await isolatedModule(`
    isolated(import.meta.url, "fail", () => {
      const error = Object.assign(new TypeError("no such page"), { page: 7 });
      Object.defineProperty(error, Symbol.for("holdfast.nonRetriable"), { value: true });
      throw error;
    });
    isolated(import.meta.url, "function", () => () => 1);
  `);
  await using test = await testPool();
  expect(await test.run(code.url, "fail")).toMatchObject({
    type: "failed",
    thrown: { isFinal: true, error: { name: "TypeError", message: "no such page", data: { page: 7 } } },
  });
  expect(failureOf(await test.run(code.url, "function")).code).toBe("STEP_RESULT_INVALID");
});

test("code that is not found says why", async () => {
  await using code = await isolatedModule(`isolated(import.meta.url, "known", () => 1);`);
  await using broken = await isolatedModule(`throw new Error("the module is broken");`);
  await using test = await testPool();
  const unknown = failureOf(await test.run(code.url, "unknown"));
  // The name alone would be enough to tell, were it the right one.
  expect(unknown.code).toBe("ISOLATE_MODULE_INVALID");
  expect(unknown.message).toContain('did not call isolated() with the name "unknown"');
  const missing = failureOf(await test.run(`${code.url}.missing`, "known"));
  expect(missing).toMatchObject({ code: "ISOLATE_MODULE_INVALID" });
  expect(failureOf(await test.run(broken.url, "any")).message).toContain("the module is broken");
  await expect(test.pool.load([{ kind: "export", module: code.url, name: "absent" }])).rejects.toMatchObject({
    code: "ISOLATE_MODULE_INVALID",
  });
  await test.pool.load([{ kind: "body", module: code.url, name: "known" }]);
});

test("in a single executable, whose module is the executable itself, the error says what to do", async () => {
  await using test = await testPool();
  const { code, message } = failureOf(await test.run(pathToFileURL(process.execPath).href, "any"));
  expect(code).toBe("ISOLATE_MODULE_INVALID");
  expect(message).toMatch(/executable itself.*a file beside the executable/);
});

test("two functions of one module with the same name are refused before either runs for the other", async () => {
  await using code = await isolatedModule(`
    isolated(import.meta.url, "work", () => "charged");
    isolated(import.meta.url, "work", () => "refunded");
  `);
  await using test = await testPool();
  const refused = test.pool.load([{ kind: "body", module: code.url, name: "work" }]);
  await expect(refused).rejects.toMatchObject({ code: "ISOLATE_MODULE_INVALID" });
  await expect(refused).rejects.toThrow('two isolated functions called "work"');
});

test("arguments that cannot be cloned are refused by name", async () => {
  await using code = await isolatedModule(`isolated(import.meta.url, "one", () => 1);`);
  await using test = await testPool();
  const refused = failureOf(await test.run(code.url, "one", { args: [{ callback: () => 1 }] }));
  expect(refused.code).toBe("ISOLATE_VALUE_INVALID");
  expect(refused.message).toContain('Step "one"');
});

test("a message that a thread cannot read, or that cannot be sent, fails its turn at once", async () => {
  await using code = await isolatedModule(`isolated(import.meta.url, "one", () => 1);`);
  const spawn = poolThreadSpawner(await loadPoolScript());
  const changes: ((command: object) => object)[] = [
    (command) => ({ ...command, version: 99 }),
    (command) => ({ ...command, extra: () => 1 }),
  ];
  await using test = await testPool(
    { threads: 1 },
    {
      spawn: (...given) => {
        const thread = spawn(...given);
        const { port } = thread;
        const post = port.postMessage.bind(port);
        const change = changes.shift();
        port.postMessage = (posted: unknown, transfer) =>
          post(change ? change(unpacked(posted) as object) : posted, transfer ?? []);
        return thread;
      },
    },
  );
  expect(failureOf(await test.run(code.url, "one")).message).toContain("speaks version 99");
  expect(failureOf(await test.run(code.url, "one")).message).toContain("could not be cloned");
  expect(resultOf(await test.run(code.url, "one"))).toBe(1);
});

test("what is read late of an earlier turn of the connection thread's takes nothing from main's turn", async () => {
  await using code = await isolatedModule(`isolated(import.meta.url, "one", () => 1);`);
  const spawn = poolThreadSpawner(await loadPoolScript());
  const subject = { requestId: "request-0", runId: "run-0", functionSlug: "app-other" };
  await using test = await testPool(
    { threads: 1 },
    {
      spawn: (...given) => {
        const thread = spawn(...given);
        const { port } = thread;
        const post = port.postMessage.bind(port);
        port.postMessage = (command: { type: string; version: number; turn: number }, transfer) => {
          post(command, transfer ?? []);
          if (command.type !== "RUN_BODY") return;
          const late = { version: command.version, turn: command.turn - 1 };
          port.emit("message", { ...late, type: "LENT", subject, budgetMs: 1 });
          port.emit("message", { ...late, type: "RETURNED" });
        };
        return thread;
      },
    },
  );
  expect(resultOf(await test.run(code.url, "one"))).toBe(1);
  expect(resultOf(await test.run(code.url, "one"))).toBe(1);
});

test("a body that does not end within its budget is ended, and its thread replaced", async () => {
  await using code = await isolatedModule(`${SPIN} isolated(import.meta.url, "one", () => 1);`);
  await using test = await testPool({ threads: 1 });
  const spin = test.run(code.url, "spin", { budgetMs: 50 });
  const next = test.run(code.url, "one");
  const failure = failureOf(await spin);
  expect(failure.code).toBe("ISOLATE_BUDGET");
  expect(failure.message).toMatch(/^Step "spin" \(attempt 1\) of function "app-fn", run run-1: .* its budget is 50 ms/);
  expect(resultOf(await next)).toBe(1);
  expect(test.pool.debugState()).toMatchObject({ threads: 1, overruns: 1, crashes: 0 });
});

async function overrunOf(test: TestPool, url: string, name: string): Promise<PlainError> {
  const end = await test.run(url, name, { budgetMs: 50 });
  if (end.type === "done") throw new Error("It ended.");
  expect(end.thrown.error.code).toBe("ISOLATE_BUDGET");
  return end.thrown.error;
}

test("the error of an overrun says where its code was, in its sources", async () => {
  await using code = await isolatedModule(`
    const forever = () => { for (;;) Math.sqrt(2); };
    isolated(import.meta.url, "loops", function outer() { return forever(); });
    isolated(import.meta.url, "waits", () => new Promise(() => {}));
    isolated(import.meta.url, "sleeps", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  `);
  await using test = await testPool({ threads: 3 });
  const overrun = (name: string): Promise<PlainError> => overrunOf(test, code.url, name);
  const [loops, waits, sleeps] = await Promise.all([overrun("loops"), overrun("waits"), overrun("sleeps")]);
  expect(loops.message).toMatch(/its thread was ended, at forever \(.*code\.mjs:3:\d+\)\.$/);
  expect(loops.stack).toMatch(/forever \(.*code\.mjs:3:\d+\)\n +at outer \(.*code\.mjs:4:\d+\)$/);
  expect(waits.message).toMatch(/its thread was ended, while it waited\.$/);
  expect(sleeps.stack).toMatch(/\.\n +at (Atomics\.)?wait \(native\)\n +at sleeps \(.*code\.mjs:6:\d+\)$/);
});

test("the error of an overrun calls a body without a name what isolated() was given, and has no frames of Holdfast's", async () => {
  await using code = await isolatedModule(`
    isolated(import.meta.url, "count words", () => { for (;;); }, { budget: "1s" });
    isolated(import.meta.url, "frozen", Object.freeze(() => { for (;;); }), { budget: "1s" });
  `);
  await using test = await testPool({ threads: 1 });
  const failure = await overrunOf(test, code.url, "count words");
  expect(failure.message).toMatch(/its thread was ended, at count words \(.*code\.mjs:3:\d+\)\.$/);
  expect(failure.stack).toMatch(/\.\n +at count words \(.*code\.mjs:3:\d+\)$/);
  const frozen = await overrunOf(test, code.url, "frozen");
  expect(frozen.message).toMatch(/its thread was ended, at .*code\.mjs:4:\d+\)?\.$/);
});

test("the place of an overrun is that of the source, where a source map is beside the code", async () => {
  await using code = await isolatedModule(`
    isolated(import.meta.url, "loops", () => { for (;;) Math.sqrt(2); });
    //${"#"} sourceMappingURL=code.mjs.map
  `);
  // Every line of the code is line 70 of the source.
  const mappings = ";;AAqEA;";
  const map = { version: 3, sources: ["src/code.ts"], names: [], mappings };
  await writeFile(new URL("code.mjs.map", code.url), JSON.stringify(map));
  await using test = await testPool({ threads: 1 });
  const failure = failureOf(await test.run(code.url, "loops", { budgetMs: 50 }));
  expect(failure.message).toMatch(/src\/code\.ts:70:1\)?\.$/);
});

test("TURNS-2: code that begins long after it was asked for begins once the work is known to be ours again", async () => {
  await using code = await isolatedModule(`
    isolated(import.meta.url, "log", (text) => { console.log(text); return text; });
  `);
  // What main knows is old, as if the process had been suspended in between.
  let agoMs = 10_000;
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() - agoMs };
  await using test = await testPool({ threads: 1 }, { clock });
  const asked: (() => void)[] = [];
  const whenConfirmed = (): Promise<void> | undefined =>
    agoMs === 0 ? undefined : new Promise((resolve) => void asked.push(resolve));
  const confirmed = test.run(code.url, "log", { args: ["one"], whenConfirmed });
  await until(() => asked.length === 1, "main to be asked");
  expect(test.logs).toEqual([]);
  agoMs = 0;
  asked[0]?.();
  expect(resultOf(await confirmed)).toBe("one");

  agoMs = 10_000;
  const signal = new CancelSource();
  const withdrawn = test.run(code.url, "log", { args: ["two"], whenConfirmed, signal });
  await until(() => asked.length === 2, "main to be asked again");
  signal.cancel(new Error("another worker has it"));
  agoMs = 0;
  asked[1]?.();
  expect(failureOf(await withdrawn).message).toBe("another worker has it");
  expect(resultOf(await test.run(code.url, "log", { args: ["three"], whenConfirmed }))).toBe("three");
  await until(() => test.logs.length === 2, "both lines");
  expect(test.logs.map(({ message }) => message)).toEqual(["one", "three"]);
  expect(test.pool.debugState()).toMatchObject({ threads: 1, crashes: 0, overruns: 0 });
});

test("code that an earlier turn left behind costs the next turn its thread, and no attempt", async () => {
  await using code = await isolatedModule(`
    import { writeFileSync } from "node:fs";
    isolated(import.meta.url, "leaves", () => {
      setImmediate(() => {
        writeFileSync(new URL("stuck", import.meta.url), "");
        for (;;);
      });
    });
    isolated(import.meta.url, "one", () => 1);
  `);
  await using test = await testPool({ threads: 1 });
  await test.run(code.url, "leaves");
  await until(() => existsSync(new URL("stuck", code.url)), "the thread to be kept busy");
  expect(resultOf(await test.run(code.url, "one"))).toBe(1);
  expect(test.pool.debugState()).toMatchObject({ threads: 1, overruns: 0, crashes: 0 });
});

test("the budget counts from when the module is evaluated, and is looked at from then on", async () => {
  await using code = await isolatedModule(`
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    ${SPIN}
    isolated(import.meta.url, "one", () => 1, { budget: 400 });
  `);
  const delays: number[] = [];
  const set: typeof systemTimers.set = (delayMs, fire, options) => {
    delays.push(delayMs);
    return systemTimers.set(delayMs, fire, options);
  };
  await using test = await testPool({ threads: 1, warm: 1 }, { timers: { ...systemTimers, set } });
  await until(() => test.pool.cells.read(0).state === "free", "the thread to be ready");
  delays.length = 0;
  expect(resultOf(await test.run(code.url, "one", { budgetMs: 400 }))).toBe(1);
  expect(failureOf(await test.run(code.url, "spin", { budgetMs: 400 })).code).toBe("ISOLATE_BUDGET");
  // 500 ms are for the end of the thread; evaluating the module may take longer than code, and is not waited for.
  expect(Math.max(...delays)).toBeLessThanOrEqual(500);
});

test.each([
  ["exit", `process.exit(3);`, "process.exit(3) was called"],
  [
    "uncaught",
    `setTimeout(() => { throw new Error("nobody caught this"); }); return new Promise(() => {});`,
    "An uncaught exception ended its thread: nobody caught this",
  ],
  [
    "rejection",
    `Promise.reject(new Error("nobody awaited this")); return new Promise(() => {});`,
    "An unhandled rejection ended its thread: nobody awaited this",
  ],
  [
    "memory",
    `const all = []; for (;;) all.push(new Array(10_000).fill(Math.random()));`,
    "ran out of memory. It may use 32 MB",
  ],
])("a thread that ends in its turn (%s) fails that turn only and says why", async (name, source, message) => {
  await using code = await isolatedModule(`
    isolated(import.meta.url, "${name}", () => { ${source} });
    isolated(import.meta.url, "slow", () => new Promise((resolve) => setTimeout(resolve, 300, "slow")));
    isolated(import.meta.url, "one", () => 1);
  `);
  await using test = await testPool();
  const other = test.run(code.url, "slow", { memoryMb: 32 });
  const failure = failureOf(await test.run(code.url, name, { memoryMb: 32 }));
  expect(failure.code).toBe("ISOLATE_THREAD_LOST");
  expect(failure.message.toLowerCase()).toContain(message.toLowerCase());
  expect(resultOf(await other)).toBe("slow");
  expect(resultOf(await test.run(code.url, "one"))).toBe(1);
  expect(test.pool.debugState()).toMatchObject({ crashes: 1, overruns: 0 });
});

test("new objects of a thread have little room, so that it ends at its memory limit and not the process", async () => {
  const spawn = poolThreadSpawner(await loadPoolScript());
  const seen: PoolResourceLimits[] = [];
  const watched: typeof spawn = (init, limits) => {
    seen.push(limits);
    return spawn(init, limits);
  };
  await using code = await isolatedModule(`isolated(import.meta.url, "one", () => 1);`);
  await using test = await testPool({ threads: 1 }, { spawn: watched });
  expect(resultOf(await test.run(code.url, "one", { memoryMb: 64 }))).toBe(1);
  const resourceLimits = { maxYoungGenerationSizeMb: 20, maxOldGenerationSizeMb: 128 };
  await using other = await testPool({ threads: 1 }, { spawn: watched, resourceLimits });
  expect(resultOf(await other.run(code.url, "one"))).toBe(1);
  expect(seen).toEqual([{ maxYoungGenerationSizeMb: 24, maxOldGenerationSizeMb: 64 }, resourceLimits]);
});

test("what code prints is logged with its function, run and step", async () => {
  await using code = await isolatedModule(`
    isolated(import.meta.url, "print", () => {
      console.log("an %s line", "informing");
      console.error(new Error("an error"));
      process.stdout.write("written\\nrest");
      console.table([{ column: 1 }]);
    });
  `);
  await using test = await testPool();
  await test.run(code.url, "print");
  const data = { function: "app-fn", run: "run-1", step: "print" };
  expect(test.logs).toContainEqual({ level: "info", message: "an informing line", data });
  expect(test.logs).toContainEqual({ level: "error", message: expect.stringMatching(/^Error: an error\n/), data });
  expect(test.logs).toContainEqual({ level: "info", message: "written", data });
  expect(test.logs.some(({ message }) => message.includes("column"))).toBe(true);
});

test("a body is told that it is not wanted any more", async () => {
  await using code = await isolatedModule(`
    isolated(import.meta.url, "wait", () => new Promise((_, reject) => {
      console.log("waiting");
      const signal = stepSignal();
      signal.addEventListener("abort", () => reject(signal.reason));
    }));
  `);
  await using test = await testPool({ threads: 1 });
  const signal = new CancelSource();
  const queued = new CancelSource();
  const running = test.run(code.url, "wait", { signal });
  const waiting = test.run(code.url, "wait", { signal: queued });
  await until(() => test.logs.some(({ message }) => message === "waiting"), "the body to wait");
  queued.cancel(new Error("not this one"));
  expect(failureOf(await waiting).message).toBe("not this one");
  signal.cancel(new Error("nor that one"));
  expect(failureOf(await running).message).toBe("nor that one");
  expect(test.pool.debugState()).toMatchObject({ threads: 1, crashes: 0 });
});

test("a body is told that it is not wanted any more, also where that was found while it was given to its thread", async () => {
  await using code = await isolatedModule(`
    isolated(import.meta.url, "wait", (isOver) => isOver || new Promise((_, reject) => {
      const signal = stepSignal();
      signal.addEventListener("abort", () => reject(signal.reason));
    }));
  `);
  await using test = await testPool({ threads: 1 });
  resultOf(await test.run(code.url, "wait", { args: [true] }));
  const signal = new CancelSource();
  const onBegun = (): void => signal.cancel(new Error("not even this one"));
  expect(failureOf(await test.run(code.url, "wait", { args: [false], signal, onBegun })).message).toBe(
    "not even this one",
  );
  expect(test.pool.debugState()).toMatchObject({ threads: 1, crashes: 0 });
});

test("a thread is replaced after so many turns, and ended when it has nothing to do", async () => {
  await using code = await isolatedModule(`
    import { threadId } from "node:worker_threads";
    isolated(import.meta.url, "id", () => threadId);
  `);
  await using recycling = await testPool({ threads: 1, recycleAfter: 2 });
  const ids: unknown[] = [];
  for (let turn = 0; turn < 5; turn += 1) ids.push(resultOf(await recycling.run(code.url, "id")));
  expect(new Set(ids).size).toBe(3);
  expect(recycling.pool.debugState()).toMatchObject({ recycled: 2, crashes: 0 });
  await using idle = await testPool({ threads: 2, warm: 1, idleMs: 20 });
  await Promise.all([idle.run(code.url, "id"), idle.run(code.url, "id")]);
  await until(() => idle.pool.debugState().threads === 1, "the spare thread to end");
});

test("a thread that native code holds is left behind, counted, and capped", async () => {
  await using code = await isolatedModule(`
    import { spawnSync } from "node:child_process";
    // Until the test opens the gate; a minute at most, should it fail before.
    const wait = "const end = Date.now() + 60_000; setInterval(() => { if (fs.existsSync(process.argv[1]) || Date.now() > end) process.exit(); }, 20);";
    isolated(import.meta.url, "native", (gate) => {
      spawnSync(process.execPath, ["-e", wait, gate]);
    });
    isolated(import.meta.url, "one", () => 1);
  `);
  await using test = await testPool({ threads: 1, maxAbandoned: 1 });
  const gate = fileURLToPath(new URL("gate", code.url));
  const native = (): Promise<TurnEnd> => test.run(code.url, "native", { args: [gate], budgetMs: 50 });
  expect(failureOf(await native()).code).toBe("ISOLATE_BUDGET");
  await until(() => test.pool.debugState().abandoned === 1, "the thread to be left behind");
  const line = test.logs.find(({ message }) => message.includes("probably in native code"));
  expect(line?.message).toContain("the process does not exit by itself, nor by process.exit(); end it with a signal");
  expect(resultOf(await test.run(code.url, "one"))).toBe(1);
  // With another one there is no room for a thread any more.
  expect(failureOf(await native()).code).toBe("ISOLATE_BUDGET");
  await until(() => test.pool.debugState().abandoned === 2, "the second thread to be left behind");
  expect(failureOf(await test.run(code.url, "one")).message).toContain("too many do not end");
  await writeFile(gate, "open");
  await until(() => test.pool.debugState().abandoned === 0, "the native code to return");
  expect(resultOf(await test.run(code.url, "one"))).toBe(1);
});

test("closing ends what runs and what waits, and leaves no thread", async () => {
  await using code = await isolatedModule(SPIN);
  const test = await testPool({ threads: 1 });
  const turns = [test.run(code.url, "spin"), test.run(code.url, "spin")];
  await until(() => test.pool.debugState().busy === 1, "the thread to be busy");
  await test.pool.close();
  for (const end of await Promise.all(turns)) expect(failureOf(end).code).toBe("ISOLATE_THREAD_LOST");
  expect(test.pool.debugState()).toMatchObject({ threads: 0, queued: 0 });
  expect(failureOf(await test.run(code.url, "spin")).message).toContain("closed");
});

test("what code prints is logged or counted, and its last line is logged", async () => {
  await using code = await isolatedModule(`
    isolated(import.meta.url, "print", (count) => {
      for (let row = 0; row < count; row += 1) console.log("row " + row);
      console.log("LAST");
    });
    isolated(import.meta.url, "spin", (count) => {
      for (let row = 0; row < count; row += 1) console.log("row " + row);
      console.log("LAST");
      for (;;);
    });
  `);
  await using test = await testPool({ threads: 1 });
  const account = () => {
    const messages = test.logs.map(({ message }) => message);
    const dropped = messages.map((text) => Number(/^(\d+) lines that isolated/.exec(text)?.[1] ?? 0));
    return {
      all: messages.filter((text) => text.startsWith("row ")).length + dropped.reduce((sum, one) => sum + one, 0),
      last: messages.filter((text) => text === "LAST").length,
    };
  };
  resultOf(await test.run(code.url, "print", { args: [20_000] }));
  expect(account()).toEqual({ all: 20_000, last: 1 });
  await test.run(code.url, "spin", { args: [5_000], budgetMs: 200 });
  expect(account()).toEqual({ all: 25_000, last: 2 });
});

test("what code writes without a newline is logged as its own, and not before a line of the next turn", async () => {
  await using code = await isolatedModule(`
    isolated(import.meta.url, "first", () => void process.stdout.write("no newline"));
    isolated(import.meta.url, "second", () => void process.stdout.write("one line\\n"));
  `);
  await using made = await testPool({ threads: 1 });
  await made.run(code.url, "first");
  await made.run(code.url, "second");
  expect(made.logs.map(({ message, data }) => [message, data?.step])).toEqual([
    ["no newline", "first"],
    ["one line", "second"],
  ]);
});
