import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { RunView } from "../support/api.mjs";
import { marksOf } from "../support/marks.mjs";
import { nodeOf } from "../support/node-versions.mjs";
import { inWorld } from "../test/world.ts";

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const code = marksOf(fixture("stalling.mjs"));
const extended = { name: "with extensions", extensions: true };
const fast = { HOLDFAST_STALL_THRESHOLD: "300ms" };
const HEADLINE = "holdfast: The main thread has been blocked";

const named = ({ stalls }: RunView): (string | undefined)[] => [...new Set(stalls.map(({ stepId }) => stepId))];

describe.each([20, 22, 24])("Node %i", (major) => {
  test("a stall report names blocking code in a step, in a handler, in native code and outside of functions", async () => {
    await inWorld(extended, async ({ startAppOf, trigger, ended, until }) => {
      const app = await startAppOf("stall-app.mjs", { node: await nodeOf(major), env: fast });

      const inStep = await ended(await trigger("in-step", { blockMs: 1_500 }));
      expect(named(inStep)).toEqual(["count the invoices"]);
      for (const { location } of inStep.stalls) expect(location).toContain(code("keepBusy"));

      const inHandler = await ended(await trigger("in-handler", { blockMs: 1_500 }));
      expect(inHandler.stalls.length).toBeGreaterThan(1);
      expect(named(inHandler)).toEqual([undefined]);
      for (const { location } of inHandler.stalls) expect(location).toContain(code("keepBusy"));

      // Native code is seen as it ends; until then the only request in flight is the likely one.
      const inNative = await ended(await trigger("in-native", { blockMs: 2_000 }));
      expect(inNative.stalls[0]).toMatchObject({ ended: false });
      const account = inNative.stalls.at(-1);
      expect(account).toMatchObject({ ended: true, stepId: "wait", codeName: "waitInNative" });
      expect(account?.location).toContain(code("waitInNative"));

      await app.ask("block", { blockMs: 1_500 });
      const line = await app.line(
        (text) => text.startsWith(HEADLINE) && text.includes("outside of any function"),
        20_000,
      );
      expect(line).toContain(`at keepBusy (${code("keepBusy")}`);
      const debug = async () => (await app.ask("debugState")).thread.stalls;
      await until("the last one's account", async () => (await debug()).current === null);
      expect(await debug()).toMatchObject({ count: 4, last: { report: { execution: null, foundBy: "stack" } } });
      await app.close();
    });
  });

  test("a stall report names the right one of forty functions that run at once", async () => {
    await inWorld(extended, async ({ startAppOf, api, until, ended }) => {
      const app = await startAppOf("stall-app.mjs", { node: await nodeOf(major), env: fast });
      for (let round = 0; round < 3; round++) {
        const guilty = 7 + 11 * round;
        const events = Array.from({ length: 40 }, (_, index) => ({
          name: "test/crowd",
          data: { index, ...(index === guilty ? { blocks: 1 + round, blockMs: 1_200 } : {}) },
        }));
        const ids = await api.send(events);
        const runs = (await Promise.all(ids.map((id) => api.runsOf(id)))).flat();
        expect(runs).toHaveLength(40);
        await until("all to end", async () =>
          (await Promise.all(runs.map(({ id }) => api.run(id)))).every((run) => run.endedMs),
        );
        for (const [index, { id }] of runs.entries()) {
          const run = await ended(id);
          expect(named(run), `run ${index} of round ${round}`).toEqual(index === guilty ? [`turn ${1 + round}`] : []);
        }
      }
      await app.close();
    });
  });
});

test("a stall report gives lines of the TypeScript source when the app runs through tsx", async () => {
  await inWorld(extended, async ({ startAppOf, trigger, ended }) => {
    const tsx = import.meta.resolve("tsx");
    const app = await startAppOf("stall-typed-app.ts", { nodeArgs: ["--import", tsx], env: fast });
    const run = await ended(await trigger("typed", { blockMs: 1_500 }));
    expect(run.stalls[0]).toMatchObject({ codeName: "closeTheBooks", stepId: "close the books" });
    for (const { location } of run.stalls) {
      expect(location).toContain(marksOf(fixture("stall-typed-app.ts"))("closeTheBooks"));
    }
    await app.close();
  });
});

test("with a main thread blocked forever, heartbeats continue and maxStall gives its run to another worker", async () => {
  await inWorld({ ...extended, tapped: true }, async ({ startAppOf, trigger, ended, until, tap, api, noted }) => {
    const lost = await startAppOf("stall-app.mjs", { env: { ...fast, HOLDFAST_MAX_STALL: "6s" } });
    const runId = await trigger("for-ever");
    await noted(runId, "spin");
    await lost.line((text) => text.startsWith(HEADLINE) && text.includes(`run ${runId}`), 20_000);
    const beats = (): number => tap.of("WORKER_HEARTBEAT").length;
    const before = beats();
    await until("four more heartbeats of the blocked app", () => beats() >= before + 4);
    expect(tap.connections).toBe(1);
    const other = await startAppOf("stall-app.mjs");
    const run = await ended(runId);
    expect(run).toMatchObject({ status: "COMPLETED", output: other.pid });
    const stalls = run.stalls.filter(({ ended: over }) => !over);
    expect(stalls.length).toBeGreaterThan(2);
    for (const stall of stalls) expect(stall).toMatchObject({ stepId: "spin" });
    expect(stalls.some(({ stack }) => stack?.includes("neverEnds"))).toBe(true);
    // What comes now is not given to the blocked one.
    const next = await ended(await trigger("in-step", { blockMs: 1 }));
    expect(next.status).toBe("COMPLETED");
    expect((await api.counters()).stalls).toBeGreaterThan(2);
    expect(lost.alive).toBe(true);
    await lost.kill();
    await other.close();
  });
});

test("maxStall on the plain protocol lets leases expire, and the late result is discarded", async () => {
  const plain = { name: "plain protocol", extensions: false, plain: true, lease: "4s", heartbeat: "1s" };
  await inWorld(plain, async ({ startAppOf, trigger, ended, noted, journal }) => {
    const env = { ...fast, HOLDFAST_MAX_STALL: "600ms" };
    const apps = [await startAppOf("stall-app.mjs", { env }), await startAppOf("stall-app.mjs", { env })];
    const runId = await trigger("too-long", { gate: "work" });
    await noted(runId, "work");
    const blocked = journal.entries(runId).find(({ what }) => what === "work")?.pid;
    const other = apps.find(({ pid }) => pid !== blocked)?.pid;
    const run = await ended(runId);
    // The attempt of the blocked one is used up: there the function has one more.
    expect(run).toMatchObject({ status: "COMPLETED", output: other, leasesLost: 1 });
    journal.open("work");
    await noted(runId, "work done", 2);
    expect(journal.entries(runId).filter(({ what }) => what === "after work")).toMatchObject([{ pid: other }]);
    expect(await ended(runId)).toEqual(run);
    for (const app of apps) await app.close();
  });
});

describe("Apps with harmful code", () => {
  test("heartbeats keep their intervals while the app produces garbage as fast as it can", async () => {
    await inWorld({ ...extended, tapped: true, heartbeat: "500ms" }, async ({ startAppOf, trigger, ended, tap }) => {
      const app = await startAppOf("stall-app.mjs");
      const runId = await trigger("garbage", { blockMs: 5_000 });
      const fromAt = Date.now();
      const run = await ended(runId);
      expect(run.status).toBe("COMPLETED");
      const beats = tap.of("WORKER_HEARTBEAT").filter(({ at }) => at >= fromAt).length;
      // Ten were due.
      expect(beats).toBeGreaterThanOrEqual(6);
      expect(tap.connections).toBe(1);
      expect(run.stalls[0]?.stack).toContain("makeGarbage");
      await app.close();
    });
  });

  test("a process that exceeds its memory dies, and its run continues elsewhere", async () => {
    await inWorld(extended, async ({ startAppOf, trigger, ended, noted }) => {
      const doomed = await startAppOf("stall-app.mjs", { nodeArgs: ["--max-old-space-size=64"] });
      const runId = await trigger("memory");
      await noted(runId, "fill");
      const other = await startAppOf("stall-app.mjs");
      const { signal, code: exitCode } = await doomed.exited;
      expect(signal ?? exitCode).toBeTruthy();
      expect(await ended(runId)).toMatchObject({ status: "COMPLETED", output: other.pid });
      await other.close();
    });
  });

  test("100,000 log records delay no heartbeat, use bounded memory and do not prevent the run's end", async () => {
    await inWorld({ ...extended, tapped: true, heartbeat: "500ms" }, async ({ startAppOf, trigger, ended, tap }) => {
      const app = await startAppOf("stall-app.mjs", { nodeArgs: ["--max-old-space-size=128"] });
      const fromAt = Date.now();
      const run = await ended(await trigger("chatter", { lines: 100_000 }));
      expect(run.status).toBe("COMPLETED");
      const tookMs = Date.now() - fromAt;
      const beats = tap.of("WORKER_HEARTBEAT").filter(({ at }) => at >= fromAt).length;
      expect(beats).toBeGreaterThanOrEqual(Math.floor(tookMs / 500 / 2));
      expect(run.output, "resident memory, bytes").toBeLessThan(400 * 1024 * 1024);
      expect(tap.connections).toBe(1);
      await app.close();
    });
  });
});

describe("Stalls that are not reported", () => {
  test.each([
    ["when it is off", { env: { HOLDFAST_STALL_THRESHOLD: "off" } }, "off"],
    ["while an inspector is open", { env: fast, nodeArgs: ["--inspect=127.0.0.1:0"] }, "debugger"],
    ["of what is shorter than the threshold", { env: { HOLDFAST_STALL_THRESHOLD: "10s" } }, "on"],
  ] as const)("no stall is reported %s", async (_, options, detection) => {
    await inWorld(extended, async ({ startAppOf, trigger, ended }) => {
      const app = await startAppOf("stall-app.mjs", options);
      const run = await ended(await trigger("in-step", { blockMs: 2_000 }));
      expect(run).toMatchObject({ status: "COMPLETED", stalls: [] });
      expect((await app.ask("debugState")).thread.stalls).toMatchObject({
        detection,
        count: 0,
        reports: 0,
        last: null,
      });
      expect(app.tail(200)).not.toContain(HEADLINE);
      await app.close();
    });
  });
});
