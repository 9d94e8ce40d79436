import { existsSync } from "node:fs";
import { type Clock, systemClock } from "@holdfast/core";
import { expect, test } from "vitest";
import { poolThreadSpawner, type SpawnPoolThread } from "../../src/isolation/main/spawn-pool-thread.ts";
import { loadPoolScript } from "../../src/thread-script.ts";
import { until } from "../connection/until.ts";
import { failureOf, isolatedModule, resultOf, type TestPool, testPool } from "./pool-harness.ts";

const LEAVING = `
  import { writeFileSync } from "node:fs";
  const compute = (ms) => { const end = Date.now() + ms; while (Date.now() < end); };
  isolated(import.meta.url, "leaves", (timers, ms) => {
    for (let count = 0; count < timers; count += 1) {
      setInterval(() => {
        writeFileSync(new URL("busy", import.meta.url), "");
        compute(ms);
      }, 1);
    }
  });
  isolated(import.meta.url, "one", () => 1);
`;

const isBusy = (url: string): Promise<unknown> =>
  until(() => existsSync(new URL("busy", url)), "the code that is left behind to run");

const subjectOf = (runId: string, id: string) => ({
  ...{ requestId: `request of ${runId}`, runId, functionSlug: "app-fn" },
  step: { id, hash: id, attempt: 0 },
});

/** Turns of others, until one has found the thread busy. None of them may fail. */
async function untilReplaced(test: TestPool, url: string): Promise<void> {
  for (let count = 0; test.pool.debugState().recycled === 0; count += 1) {
    if (count > 50) throw new Error("No turn found the thread busy.");
    expect(resultOf(await test.run(url, "one", { subject: subjectOf("innocent", "one"), budgetMs: 60_000 }))).toBe(1);
  }
}

test.each([
  [1, 600],
  [2, 800],
  [6, 400],
])(
  "TURNS-4: %d timers that compute for %d ms each, left behind, cost no other turn its attempt",
  async (timers, ms) => {
    await using code = await isolatedModule(LEAVING);
    await using test = await testPool({ threads: 1 });
    await test.run(code.url, "leaves", { args: [timers, ms], subject: subjectOf("guilty", "leave") });
    await isBusy(code.url);
    await untilReplaced(test, code.url);
    expect(test.pool.debugState()).toMatchObject({ busy: 0, queued: 0, overruns: 0, crashes: 0, recycled: 1 });
    const line = test.logs.find(({ message }) => message.includes("left behind"));
    expect(line).toMatchObject({ level: "warn", data: { code: "ISOLATE_THREAD_LOST", function: "app-fn" } });
  },
);

test("a thread that computes without a turn is ended, and the log says whose turn was there", async () => {
  await using code = await isolatedModule(LEAVING);
  await using test = await testPool({ threads: 1 });
  await test.run(code.url, "leaves", { args: [1, 400], subject: subjectOf("guilty", "leave") });
  const line = await until(
    () => test.logs.find(({ message }) => message.startsWith("A thread of the pool was ended")),
    "the thread to be ended",
  );
  expect(line.message).toContain('(the last one there was that of step "leave" (attempt 1) of function "app-fn"');
  expect(line.data).toMatchObject({ function: "app-fn", run: "guilty", step: "leave" });
  await until(() => test.pool.debugState().threads === 0, "it to be gone");
  expect(test.pool.debugState()).toMatchObject({ recycled: 1, crashes: 0, overruns: 0 });
});

test("threads that wait are kept, whatever timers turns have left there", async () => {
  await using code = await isolatedModule(`
    import { threadId } from "node:worker_threads";
    isolated(import.meta.url, "id", () => { setInterval(() => {}, 100); setTimeout(() => {}, 60_000); return threadId; });
  `);
  await using test = await testPool({ threads: 1 });
  const first = resultOf(await test.run(code.url, "id"));
  // Longer than code may compute that is left behind.
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  expect(resultOf(await test.run(code.url, "id"))).toBe(first);
});

test("a thread that always reads too late that it may begin is ended, and its turn goes to another one", async () => {
  await using code = await isolatedModule(`isolated(import.meta.url, "one", () => 1);`);
  // What the thread is told is always old, as if messages took long.
  let agoMs = 10_000;
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() - agoMs };
  await using test = await testPool({ threads: 1 }, { clock });
  const turn = test.run(code.url, "one", { whenConfirmed: () => undefined });
  await until(() => test.logs.some(({ message }) => message.includes("did not begin it")), "the turn to be taken away");
  agoMs = 0;
  expect(resultOf(await turn)).toBe(1);
  expect(test.pool.debugState()).toMatchObject({ recycled: 1, overruns: 0, crashes: 0 });
});

test("the answer of a turn that is over in the thread and does not arrive is not waited for on and on", async () => {
  await using code = await isolatedModule(`isolated(import.meta.url, "one", () => 1);`);
  const spawn = poolThreadSpawner(await loadPoolScript());
  let isLost = true;
  await using test = await testPool(
    { threads: 1 },
    {
      spawn: (...given) => {
        const thread = spawn(...given);
        const { port } = thread;
        const on = port.on.bind(port);
        port.on = ((name: string, listener: (posted: unknown) => void) =>
          on(name, (posted: unknown) => {
            if (!isLost || !Array.isArray(posted)) listener(posted);
          })) as typeof port.on;
        return thread;
      },
    },
  );
  expect(failureOf(await test.run(code.url, "one")).message).toContain("its answer did not arrive");
  isLost = false;
  expect(resultOf(await test.run(code.url, "one"))).toBe(1);
});

test("an overrun is not blamed on a turn whose thread another one's code keeps busy", async () => {
  await using code = await isolatedModule(`
    let start;
    const started = new Promise((resolve) => { start = resolve; });
    isolated(import.meta.url, "leaves", () => void started.then(function spin() { for (;;); }));
    isolated(import.meta.url, "victim", () => { start(); return new Promise(() => {}); });
  `);
  await using test = await testPool({ threads: 1 });
  await test.run(code.url, "leaves", { subject: subjectOf("guilty", "leave") });
  const failure = failureOf(
    await test.run(code.url, "victim", { subject: subjectOf("innocent", "victim"), budgetMs: 300 }),
  );
  expect(failure.code).toBe("ISOLATE_THREAD_LOST");
  expect(failure.message).toMatch(/^Step "victim" \(attempt 1\) of function "app-fn", run innocent: it did not end/);
  expect(failure.message).toMatch(
    /code that step "leave" \(attempt 1\) of function "app-fn", run guilty left behind .*, at spin \(/,
  );
});

test.each([
  ["an error", `setTimeout(() => { throw new Error("later"); }, 20);`, "An uncaught exception"],
  ["a rejection", `setTimeout(() => Promise.reject(new Error("later")), 20);`, "An unhandled rejection"],
])("%s that nothing catches between turns is logged, with whose turn was there", async (_, source, what) => {
  await using code = await isolatedModule(`isolated(import.meta.url, "leaves", () => { ${source} });`);
  await using test = await testPool({ threads: 1 });
  await test.run(code.url, "leaves");
  const line = await until(() => test.logs.find(({ message }) => message.includes("later")), "the error");
  expect(line.level).toBe("warn");
  expect(line.message).toMatch(/^A thread of the pool ended between turns, after that of step "leaves" .* run run-1: /);
  expect(line.message).toContain(`${what} ended its thread: later`);
  expect(line.data).toMatchObject({ function: "app-fn", run: "run-1", step: "leaves", err: { message: "later." } });
  expect(test.pool.debugState()).toMatchObject({ crashes: 1 });
});

/** Starts threads of which the first one ends before it reads its first message. */
async function spawnLosingFirst({ isSent }: { readonly isSent: boolean }): Promise<SpawnPoolThread> {
  const spawn = poolThreadSpawner(await loadPoolScript());
  let isFirst = true;
  return (...given) => {
    const thread = spawn(...given);
    const post = thread.port.postMessage.bind(thread.port);
    thread.port.postMessage = (posted: unknown, transfer) => {
      const isLost = isFirst;
      isFirst = false;
      if (isLost) void thread.worker.terminate();
      if (isSent || !isLost) post(posted, transfer ?? []);
    };
    return thread;
  };
}

test("a turn whose thread ends before it has begun with it goes to the next thread", async () => {
  await using code = await isolatedModule(`isolated(import.meta.url, "one", () => 1);`);
  await using test = await testPool({ threads: 1 }, { spawn: await spawnLosingFirst({ isSent: false }) });
  expect(resultOf(await test.run(code.url, "one"))).toBe(1);
  expect(test.pool.debugState()).toMatchObject({ crashes: 1, threads: 1 });
});

test("large arguments are there for every thread that a turn is given to", async () => {
  await using code = await isolatedModule(`isolated(import.meta.url, "length", (text) => text.length);`);
  await using test = await testPool({ threads: 1 }, { spawn: await spawnLosingFirst({ isSent: true }) });
  expect(resultOf(await test.run(code.url, "length", { args: ["x".repeat(1_000_000)] }))).toBe(1_000_000);
  expect(test.pool.debugState()).toMatchObject({ crashes: 1, threads: 1 });
});

test("POOL-12: while the process cannot start threads a step waits, and the log says so; a check fails at once", async () => {
  await using code = await isolatedModule(`isolated(import.meta.url, "one", () => 1);`);
  const spawn = poolThreadSpawner(await loadPoolScript());
  let isShort = true;
  let tries = 0;
  await using test = await testPool(
    { threads: 1 },
    {
      spawn: (...given) => {
        tries += 1;
        if (isShort) {
          throw Object.assign(new Error("Worker initialization failure: EAGAIN"), { code: "ERR_WORKER_INIT_FAILED" });
        }
        return spawn(...given);
      },
    },
  );
  const turn = test.run(code.url, "one");
  await until(() => tries >= 3, "the start to be tried again");
  expect(test.pool.debugState()).toMatchObject({ queued: 1, busy: 0 });
  expect(test.logs.filter(({ level }) => level === "warn")[0]?.message).toMatch(
    /^A thread of the pool could not be started: Worker initialization failure: EAGAIN\. The next one is started in \d+ ms/,
  );
  await expect(test.pool.load([{ kind: "body", module: code.url, name: "one" }])).rejects.toMatchObject({
    code: "ISOLATE_THREAD_LOST",
    message: expect.stringContaining("EAGAIN"),
  });
  isShort = false;
  expect(resultOf(await turn)).toBe(1);
});
