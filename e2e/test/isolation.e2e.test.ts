import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { marksOf } from "../support/marks.mjs";
import { inWorld, modes } from "./world.ts";

const tsx = import.meta.resolve("tsx");
const mark = marksOf(fileURLToPath(new URL("../fixtures/isolated-typed-bodies.ts", import.meta.url)));

describe.each(modes)("$name", (mode) => {
  test("a step whose thread ends is tried again in another one, and nothing else notices", async () => {
    await inWorld(mode, async ({ startAppOf, trigger, ended, journal }) => {
      const app = await startAppOf("isolated-steps-app.mjs");
      const beside = await trigger("computing-isolated");
      const hows = ["exit", "uncaught", "rejected", "spin", "memory"];
      const ids = await Promise.all(hows.map((how) => trigger("fallible", { how })));
      for (const id of [...ids, beside]) expect((await ended(id)).status).toBe("COMPLETED");
      for (const id of ids) {
        expect(await ended(id)).toMatchObject({ output: "survived" });
        expect(journal.counts(id)).toEqual({ fallible: 2 });
      }
      expect(journal.counts(beside)).toEqual({ one: 1, two: 1, three: 1, four: 1 });
      expect((await app.ask("debugState")).isolation).toMatchObject({ overruns: 1, crashes: 4, busy: 0, queued: 0 });
      await app.close();
    });
  });
});

const extended = { name: "with extensions", extensions: true };

test("isolated code of a cancelled run is told, and its worker goes on", async () => {
  await inWorld(extended, async ({ startAppOf, trigger, ended, noted, api }) => {
    const app = await startAppOf("isolated-steps-app.mjs");
    const runId = await trigger("patient");
    await noted(runId, "patient");
    await api.send({ name: "test/stop", data: {} });
    await noted(runId, "told");
    expect(await ended(runId)).toMatchObject({ status: "CANCELLED" });
    expect(await ended(await trigger("computing-isolated"))).toMatchObject({ status: "COMPLETED" });
    await app.close();
  });
});

test("an app that is killed while a thread computes goes on with that step", async () => {
  await inWorld(extended, async ({ startAppOf, trigger, ended, noted, journal }) => {
    const first = await startAppOf("isolated-steps-app.mjs");
    const runId = await trigger("computing-isolated");
    await noted(runId, "two");
    first.kill();
    const second = await startAppOf("isolated-steps-app.mjs");
    const run = await ended(runId);
    expect(run).toMatchObject({ status: "COMPLETED" });
    const { one, four } = journal.counts(runId);
    expect({ one, four }).toEqual({ one: 1, four: 1 });
    await second.close();
  });
});

test.each([
  ["isolated-typed-app.ts", ["--import", tsx]],
  ["isolated-common-app.cjs", []],
] as const)("isolated code of %s is found by its threads", async (file, nodeArgs) => {
  await inWorld(extended, async ({ startAppOf, trigger, ended }) => {
    const app = await startAppOf(file, { nodeArgs });
    expect(await ended(await trigger("parsing"))).toMatchObject({
      status: "COMPLETED",
      output: { title: "a page", isMainThread: false },
    });
    if (file.endsWith(".ts")) {
      const { error } = await ended(await trigger("failing"));
      expect(error).toMatchObject({ name: "TypeError", message: "failed in TypeScript" });
      expect(JSON.stringify(error)).toContain(mark("fail"));
    }
    await app.close();
  });
});

test("a preload that fails in threads is reported when the app connects, with a code", async () => {
  const preload = `import { isMainThread } from "node:worker_threads"; if (!isMainThread) throw new Error("only for main");`;
  const app = fileURLToPath(new URL("../fixtures/isolated-steps-app.mjs", import.meta.url));
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--import", `data:text/javascript,${encodeURIComponent(preload)}`, app],
    {
      encoding: "utf8",
      env: { ...process.env, HOLDFAST_DEV: "http://127.0.0.1:1", HOLDFAST_TEST_JOURNAL: "/dev/null" },
      timeout: 100_000,
    },
  );
  expect(stderr).toContain("ISOLATE_THREAD_LOST");
  expect(stderr).toContain("only for main");
  expect(status).toBe(1);
});
