import { describe, expect, test } from "vitest";
import { inWorld } from "./world.ts";

/**
 * The unmodified `inngest` package, which is given nothing but INNGEST_DEV: at a gateway as strict as the reference's, and at ours, where
 * people will run it and which treats connections without extensions more kindly.
 */
describe.each([
  { name: "checkpointing on", checkpointing: "on", plain: true },
  { name: "checkpointing off", checkpointing: "off", plain: true },
  { name: "checkpointing on, at our gateway by its own rules", checkpointing: "on", plain: false },
  { name: "checkpointing off, at our gateway by its own rules", checkpointing: "off", plain: false },
] as const)("inngest 4.24 with $name", ({ checkpointing, plain }) => {
  test("sequential, parallel, sleeping and retried steps of inngest run each body exactly as often as they should", async () => {
    await inWorld({ name: "interop", extensions: true, plain }, async (world) => {
      const app = await world.startInngestApp(checkpointing);
      const expected = {
        sequential: { output: "01234", counts: { s0: 1, s1: 1, s2: 1, s3: 1, s4: 1 } },
        parallel: { output: [2, 2, 2], counts: { a1: 1, b1: 1, c1: 1, a2: 1, b2: 1, c2: 1 } },
        sleeping: { output: expect.any(Number), counts: { before: 1, after: 1 } },
        large: {
          output: 5 * 1024 * 1024,
          counts: { "large 0": 1, "large 1": 1, "large 2": 1, "large 3": 1, "large 4": 1, last: 1 },
        },
        retried: {
          output: { served: "served", caught: "Never works." },
          counts: { steady: 1, flaky: 3, hopeless: 3, last: 1 },
        },
        mixed: {
          output: { first: { n: 1 }, second: 2, all: [2, 3, 4], flaky: "served", rounds: [0, 1, 2] },
          counts: {
            first: 1,
            second: 1,
            left: 1,
            middle: 1,
            right: 1,
            flaky: 3,
            "round 0": 1,
            "round 1": 1,
            "round 2": 1,
          },
        },
      };
      await Promise.all(
        Object.entries(expected).map(async ([name, { output, counts }]) => {
          const runId = await world.trigger(name, { n: 1 });
          const run = await world.ended(runId);
          expect.soft(run.status, name).toBe("COMPLETED");
          expect.soft(run.output, name).toEqual(output);
          expect.soft(world.journal.counts(runId), name).toEqual(counts);
        }),
      );
      await app.close();
    });
  });

  test("checkpoints, large requests and deferred runs of inngest work within an environment, isolated from others", async () => {
    await inWorld({ name: "interop", extensions: true, plain }, async (world) => {
      const app = await world.startInngestApp(checkpointing, { environment: "preview" });
      const call = async (path: string, environment?: string, body?: object): Promise<never> => {
        const headers = environment === undefined ? {} : { "x-inngest-env": environment };
        const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
        return (await (await fetch(new URL(path, world.url), { headers, ...init })).json()) as never;
      };
      const send = (name: string, environment?: string): Promise<{ ids: string[] }> =>
        call("/e/key", environment, { name: `test/${name}`, data: { n: 1 } });
      const runsOf = async (environment?: string): Promise<{ status: string; endedMs: number | null }[]> =>
        ((await call("/v1/runs", environment)) as { runs: { status: string; endedMs: number | null }[] }).runs;
      const names = ["sequential", "parallel", "large", "deferring"];
      for (const name of names) {
        await send(name, "preview");
        await send(name, "production");
        await send(name);
      }
      await world.until("its runs to end", async () => {
        const runs = await runsOf("preview");
        return runs.length >= names.length + 2 && runs.every(({ endedMs }) => endedMs !== null);
      });
      expect((await runsOf("preview")).map(({ status }) => status)).toEqual(Array(names.length + 2).fill("COMPLETED"));
      expect([await runsOf(), await runsOf("production")]).toEqual([[], []]);
      await app.close();
    });
  });

  test("a deferred run of inngest starts once when its run has succeeded or failed", async () => {
    await inWorld({ name: "interop", extensions: true, plain }, async (world) => {
      await world.startInngestApp(checkpointing);
      for (const [fails, status] of [
        [false, "COMPLETED"],
        [true, "FAILED"],
      ] as const) {
        const runId = await world.trigger("deferring", { fails });
        expect((await world.ended(runId)).status).toBe(status);
        await world.noted(runId, "deferred first");
        await world.noted(runId, "deferred inside");
        const counts = { one: 1, two: 1, three: 1, "deferred first": 1, "deferred inside": 1 };
        expect(world.journal.counts(runId)).toEqual(counts);
      }
    });
  });

  test("an inngest app killed with -9 between two steps continues after the last finished one", async () => {
    await inWorld({ name: "interop", extensions: true, plain }, async (world) => {
      const first = await world.startInngestApp(checkpointing);
      const runId = await world.trigger("between");
      await world.noted(runId, "at between");
      // This package may go on before its checkpoint is stored; finished is what the gateway has.
      await world.until("the first step to be stored", async () => {
        const { steps } = await world.api.run(runId);
        return steps.some(({ name, status }) => name === "one" && status === "completed");
      });
      await first.kill();
      await world.startInngestApp(checkpointing);
      await world.noted(runId, "at between", 2);
      world.journal.open("between");
      expect((await world.ended(runId)).output).toEqual({ one: 1, two: 2 });
      expect(world.journal.counts(runId)).toMatchObject({ one: 1, two: 1 });
    });
  });

  test("requests to an inngest app with a blocked main thread run once, however late they are acknowledged", async () => {
    // At the reference the time to acknowledge is longer than any connection lives without a heartbeat.
    const ack = plain ? "120s" : "2s";
    const mode = { name: "interop", extensions: true, plain, heartbeat: "30s", lease: "120s", ack };
    await inWorld(mode, async (world) => {
      const app = await world.startInngestApp(checkpointing, { isolated: false });
      const blocking = await world.trigger("blocking-until");
      await world.noted(blocking, "block");
      // At once: after the first acknowledgement that is missed the app gets no more work.
      const eventIds = await world.api.send(Array.from({ length: 10 }, () => ({ name: "test/four", data: {} })));
      const runs = await Promise.all(eventIds.map((eventId) => world.api.runsOf(eventId)));
      const runIds = runs.flat().map(({ id }) => id);
      expect(runIds).toHaveLength(10);
      const missed = async (): Promise<number> => (await world.api.counters()).acksMissed ?? 0;
      await world.until("the acknowledgements to be missed", async () => plain || (await missed()) >= 10);
      // Later ones than the first, if there were any.
      const { claims = 0 } = await world.api.counters();
      await world.until("five claims", async () => ((await world.api.counters()).claims ?? 0) >= claims + 5);
      expect(await missed()).toBe(plain ? 0 : 10);
      world.journal.open("main");
      for (const runId of [blocking, ...runIds]) expect((await world.ended(runId)).status).toBe("COMPLETED");
      expect(world.journal.counts(blocking)).toEqual({ block: 1, "block ended": 1 });
      for (const runId of runIds) expect(world.journal.counts(runId)).toEqual({ a: 1, b: 1, c: 1, d: 1 });
      await app.close();
    });
  });
});
