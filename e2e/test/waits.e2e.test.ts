import { describe, expect, test } from "vitest";
import { node22 } from "../support/node-versions.mjs";
import { type App, inWorld, type Mode, type World } from "./world.ts";

interface Peer {
  readonly name: string;
  readonly mode: Mode;
  readonly start: (world: World) => Promise<App>;
}

const holdfast = (extensions: boolean): Peer => ({
  name: extensions ? "holdfast with extensions" : "holdfast on the plain protocol",
  mode: { name: "waits", extensions, plain: !extensions },
  start: (world) => world.startFixture("waiting-app.mjs", { env: { HOLDFAST_DEV: world.api.url } }),
});

/** At a gateway as strict as the reference's, or at ours by its own rules. */
const inngest = (checkpointing: "on" | "off", plain: boolean): Peer => ({
  name: `inngest 4.24, checkpointing ${checkpointing}${plain ? "" : ", at our gateway by its own rules"}`,
  mode: { name: "waits", extensions: true, plain },
  start: async (world) =>
    world.startFixture("inngest-waiting-app.mjs", {
      node: await node22(),
      env: { INNGEST_DEV: world.api.url.replace("127.0.0.1", "localhost"), TEST_CHECKPOINTING: checkpointing },
    }),
});

const waits = (world: World, runId: string, name: string): Promise<void> =>
  world.until(`run ${runId} to wait for ${name}`, async () => {
    const run = (await world.api.run(runId)) as { waits?: readonly { name: string }[] };
    return run.waits?.some((wait) => wait.name === name) ?? false;
  });

const peers = [
  holdfast(true),
  holdfast(false),
  inngest("on", true),
  inngest("off", true),
  inngest("on", false),
  inngest("off", false),
];

describe.each(peers)("$name", ({ mode, start }) => {
  test("events, signals, invocations, cancellations and failures run each body exactly once", async () => {
    await inWorld(mode, async (world) => {
      const app = await start(world);
      const [runId, stopped, failed] = [
        await world.trigger("waits", { n: 7 }),
        await world.trigger("stoppable", { n: 1 }),
        await world.trigger("failing"),
      ];
      await waits(world, runId, "test/paid");
      await world.api.send({ name: "test/paid", data: { n: 8 } });
      await world.api.send({ name: "test/paid", data: { n: 7 } });
      await waits(world, runId, "go-7");
      const signal = await fetch(new URL("/v1/signals", world.api.url), {
        method: "POST",
        body: JSON.stringify({ signal: "go-7", data: { by: "test" } }),
      });
      expect(await signal.json()).toEqual({ data: { run_id: runId } });
      const run = await world.ended(runId);
      expect(run.output).toEqual({
        paid: { n: 7 },
        never: null,
        signal: { signal: "go-7", data: { by: "test" } },
        invoked: { doubled: 14 },
        other: "beside",
        refused: expect.stringContaining("The child does not want to."),
      });
      expect(world.journal.counts(runId)).toEqual({ before: 1, beside: 1, after: 1 });
      await world.until("the event that was sent inside to start its run", async () => {
        const runs = await world.api.runs();
        return runs.some(({ functionId, status }) => functionId.endsWith("-told") && status === "COMPLETED");
      });

      await world.noted(stopped, "begin");
      await world.api.send({ name: "test/stop", data: { n: 2 } });
      await world.api.send({ name: "test/stop", data: { n: 1 } });
      expect((await world.ended(stopped)).status).toBe("CANCELLED");

      expect((await world.ended(failed)).error).toMatchObject({ message: "It went wrong." });
      await world.noted(failed, "failure: It went wrong. of test/failing");
      await world.until("every run to end", async () =>
        (await world.api.runs()).every(({ endedMs }) => endedMs !== null),
      );
      await app.close();
    });
  });
});
