import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { inCluster } from "./cluster.ts";
import { duplicates } from "./effects.ts";

const KILLS = 100;
const RUNS = 1_000;
const DEATHS = ["exit", "throw", "reject"] as const;

interface AppState {
  readonly state: string;
  readonly crashes: number;
  readonly inFlight: number;
}

test(`${KILLS} kills of the connection thread under ${RUNS} executions in flight: no result lost, no step redone`, async () => {
  await inCluster({ gateways: 1, heartbeat: "2s", lease: "20s" }, async (cluster) => {
    const app = await cluster.startApp({ file: "kills-app.mjs" });
    const look = (): Promise<AppState> => app.ask("debugState");
    const events = Array.from({ length: RUNS }, (_, n) => ({ name: "test/held", data: { n } }));
    await cluster.send(events);
    await waitFor(async () => (await look()).inFlight === RUNS, {
      what: "all executions in flight",
      timeoutMs: 60_000,
    });

    const beganMs = performance.now();
    let fewest = RUNS;
    for (let kills = 1; kills <= KILLS; kills++) {
      await app.ask("killThread", { how: DEATHS[kills % DEATHS.length] });
      const state = await waitFor(
        async () => {
          const now = await look();
          return now.crashes === kills && now.state === "ACTIVE" ? now : undefined;
        },
        {
          what: `the connection after kill ${kills}`,
          timeoutMs: 60_000,
          context: async () => JSON.stringify(await look()),
        },
      );
      fewest = Math.min(fewest, state.inFlight);
      // Not always at the same moment of its life: from right after it is ready to well at work.
      await new Promise((resolve) => setTimeout(resolve, (kills * 37) % 150));
    }
    const tookMs = performance.now() - beganMs;
    expect(fewest, "executions in flight during the kills").toBe(RUNS);

    cluster.journal.open("end");
    await cluster.ended(RUNS);
    expect(await cluster.statuses(), "results").toEqual({ COMPLETED: RUNS });
    expect(duplicates(cluster.journal), "steps that ran twice").toEqual([]);
    expect(await cluster.logged("LEASE_LOST"), "leases lost").toBe(0);
    const steps = cluster.journal.entries().length;
    expect(await cluster.logged("STEP_COMPLETED")).toBe(steps);
    expect((await look()).crashes).toBe(KILLS);
    await app.close();
    console.log(
      `${KILLS} kills in ${(tookMs / 1000).toFixed(1)} s under ${RUNS} executions: ${steps} steps, none redone; ${RUNS} results, none lost.`,
    );
  });
});
