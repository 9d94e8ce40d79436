import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { type App, inWorld, modes, type World } from "./world.ts";

/** The two workers at a gateway each, or at one. */
const cases = modes.map((mode) => ({ ...mode, gateways: mode.extensions ? 2 : 1 }));

/** Their sockets outlast the suspension, with all that lies in them. */
const PATIENT = { heartbeat: "5s", lease: "20s" };
/** The lease of what is under way ends soon. */
const SHORT = { heartbeat: "500ms", lease: "4s" };

interface Stopped {
  readonly app: App;
  readonly stop: () => Promise<void>;
  readonly goOn: () => void;
}

async function stoppedProcess(world: World): Promise<Stopped> {
  const app = await world.startApp();
  return { app, stop: async () => app.signal("SIGSTOP"), goOn: () => app.signal("SIGCONT") };
}

async function silentThread(world: World): Promise<Stopped> {
  const app = await world.startFixture("killable-app.mjs", { env: { HOLDFAST_DEV: world.url } });
  const wake = join(dirname(world.journal.path), "open-wake");
  const stop = async (): Promise<void> => {
    await app.ask("killThread", { how: "nap", until: wake });
    await world.until("the thread to stall", () => existsSync(`${wake}.begun`));
  };
  return { app, stop, goOn: () => world.journal.open("wake") };
}

async function urlOfOther(world: World, gateways: number): Promise<Record<string, string>> {
  return gateways === 1 ? {} : { HOLDFAST_DEV: (await world.secondGateway()).url };
}

/** It has read everything that lay in its socket: no other worker can do this run. */
async function isBack(world: World, app: App, other: App): Promise<void> {
  await other.close();
  expect((await world.ended(await world.trigger("four"))).status).toBe("COMPLETED");
  await world.until("it to have nothing left", async () => (await app.ask("debugState")).inFlight === 0);
}

describe.each(cases)("$name", (mode) => {
  describe.each([
    ["a process that was stopped", stoppedProcess],
    ["a connection thread that stalled", silentThread],
  ])("%s", (_name, start) => {
    test("a suspended worker starts no request from its socket that others have finished", async () => {
      await inWorld({ ...mode, ...PATIENT }, async (world) => {
        const env = await urlOfOther(world, mode.gateways);
        const { app, stop, goOn } = await start(world);
        await stop();
        try {
          const runs: string[] = [];
          for (let count = 0; count < 20; count++) runs.push(await world.trigger("four"));
          const other = await world.startApp(env);
          for (const runId of runs) expect((await world.ended(runId)).output).toBe(4);
          goOn();
          await isBack(world, app, other);
          for (const runId of runs) expect(world.journal.counts(runId)).toEqual({ a: 1, b: 1, c: 1, d: 1 });
          await app.close();
        } finally {
          goOn();
        }
      });
    });

    test("a suspended worker does not start the next step of a run that another worker has finished", async () => {
      await inWorld({ ...mode, ...SHORT }, async (world) => {
        const env = await urlOfOther(world, mode.gateways);
        const { app, stop, goOn } = await start(world);
        const runId = await world.trigger("between");
        await world.noted(runId, "at between");
        // The handler is given a result before it is stored; what is not stored is another worker's to do again.
        await world.until("the first step to be stored", async () => (await world.api.run(runId)).steps.length > 0);
        await stop();
        try {
          const other = await world.startApp(env);
          await world.noted(runId, "at between", 2);
          // A main thread that was not stopped would go on now.
          world.journal.open("between");
          expect((await world.ended(runId)).output).toEqual({ one: 1, two: 2 });
          goOn();
          await isBack(world, app, other);
          expect(world.journal.counts(runId)).toMatchObject({ one: 1, two: 1 });
          await app.close();
        } finally {
          goOn();
        }
      });
    });
  });
});
