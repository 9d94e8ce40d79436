import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { inCluster } from "./cluster.ts";
import { duplicates, redoneAfterAcknowledgement } from "./effects.ts";

const cases = [
  { protocol: "extensions", plain: false, kills: 100, runs: 1_000, liveMs: 0 },
  // Every step is a request of its own here: between two kills some of them must get through. What the gateway has not heard an
  // acknowledgement of is sent again as soon as a socket ends, also when it was taken: a body that is not finished may begin again, and
  // what was sent three times in vain has used an attempt up.
  { protocol: "plain", plain: true, kills: 25, runs: 300, liveMs: 1_000 },
];
const DEATHS = ["exit", "throw", "reject"] as const;

interface AppState {
  readonly state: string;
  readonly crashes: number;
  readonly inFlight: number;
}

test.each(cases)(
  "$kills kills of the connection thread under $runs executions in flight, $protocol: no result lost, no step redone",
  async (each) => {
    const { protocol, plain, kills, runs, liveMs } = each;
    // A machine that is busy elsewhere may take several lives of the thread to extend a thousand leases.
    const patience = { lease: "60s", args: ["--reconnect-grace", "60s"] };
    await inCluster({ gateways: 1, plain, heartbeat: "2s", ...patience }, async (cluster) => {
      const app = await cluster.startApp({ file: "kills-app.mjs", env: { HOLDFAST_TEST_RETRIES: plain ? "4" : "0" } });
      const look = (): Promise<AppState> => app.ask("debugState");
      // With the plain protocol a run is nowhere in between two of its steps.
      const enough = plain ? 1 : runs;
      const events = Array.from({ length: runs }, (_, n) => ({ name: "test/held", data: { n } }));
      await cluster.send(events);
      await waitFor(async () => (await look()).inFlight >= enough, {
        what: "all executions in flight",
        timeoutMs: 60_000,
      });

      const beganMs = performance.now();
      let fewest = runs;
      for (let count = 1; count <= kills; count++) {
        await app.ask("killThread", { how: DEATHS[count % DEATHS.length] });
        const state = await waitFor(
          async () => {
            const now = await look();
            return now.crashes === count && now.state === "ACTIVE" ? now : undefined;
          },
          {
            what: `the connection after kill ${count}`,
            timeoutMs: 60_000,
            context: async () => JSON.stringify(await look()),
          },
        );
        fewest = Math.min(fewest, state.inFlight);
        // Not always at the same moment of its life: from right after it is ready to well at work.
        await new Promise((resolve) => setTimeout(resolve, liveMs + ((count * 37) % 150)));
      }
      const tookMs = performance.now() - beganMs;
      expect(fewest, "executions in flight during the kills").toBeGreaterThanOrEqual(enough);

      cluster.journal.open("end");
      await cluster.ended(runs);
      expect(await cluster.statuses(), "results").toEqual({ COMPLETED: runs });
      const again = duplicates(cluster.journal);
      if (!plain) expect(again, "steps that ran twice").toEqual([]);
      expect(await redoneAfterAcknowledgement(cluster), "steps that ran again when they were finished").toEqual([]);
      expect(await cluster.logged("LEASE_LOST"), "leases lost").toBe(0);
      const steps = new Set(cluster.journal.entries().map(({ runId, what }) => `${runId} ${what.replace("got ", "")}`))
        .size;
      expect(await cluster.logged("STEP_COMPLETED")).toBe(steps);
      expect((await look()).crashes).toBe(kills);
      await app.close();
      console.log(
        `${protocol}: ${kills} kills in ${(tookMs / 1000).toFixed(1)} s under ${runs} executions: ${steps} steps, none redone, ${again.length} begun again before they were finished; ${runs} results, none lost.`,
      );
    });
  },
);
