import { expect, test } from "vitest";
import { inWorld } from "./world.ts";

/** The default intervals and options, at a gateway that is as strict as the reference's. */
const strict = {
  name: "a plain gateway",
  extensions: true,
  plain: true,
  heartbeat: "10s",
  lease: "120s",
  tapped: true,
};

test("a step that blocks for 3 s and three events sent meanwhile all complete", async () => {
  await inWorld(strict, async ({ startApp, trigger, ended, noted, journal, tap }) => {
    const app = await startApp();
    const blocking = await trigger("blocking", { blockMs: 3_000 });
    await noted(blocking, "block");
    const others = await Promise.all([trigger("four"), trigger("four"), trigger("four")]);
    // On a machine without a processor to spare the line says that instead of blaming the code.
    await app.line((text) => /main thread (has been blocked|was given no processor)/.test(text), 100_000);
    for (const runId of [blocking, ...others]) expect((await ended(runId)).status).toBe("COMPLETED");
    for (const runId of others) expect(journal.counts(runId)).toEqual({ a: 1, b: 1, c: 1, d: 1 });
    expect(tap.of("WORKER_PAUSE")).toEqual([]);
    await app.close();
    expect(tap.of("WORKER_PAUSE")).toHaveLength(1);
  });
});

test("a worker whose main thread is blocked while it connects still receives work", async () => {
  await inWorld(strict, async ({ startApp, trigger, ended, tap }) => {
    const app = await startApp({ TEST_BLOCK_AT_START_MS: "2500" });
    expect((await ended(await trigger("four"))).output).toBe(4);
    expect(tap.of("WORKER_PAUSE")).toEqual([]);
    expect(tap.of("WORKER_READY")).toHaveLength(1);
    await app.close();
  });
});
