/** What a gateway shows of how its workers are, with real threads, and a main thread that is blocked. */
import { expect, test } from "vitest";
import { inWorld } from "./world.ts";

interface State {
  readonly ageMs: number;
  readonly mainLagMs: number;
  readonly inFlight: number;
  readonly requests: readonly { readonly runId: string }[];
  readonly isolation: { readonly threads: number; readonly busy: number; readonly queued: number } | null;
  readonly process: { readonly pid: number };
}

async function stateAt(url: string): Promise<State | null | undefined> {
  const answer = await (await fetch(`${url}/v1/workers`)).json();
  const [worker] = (answer as { readonly workers: readonly { readonly condition: { readonly state: State | null } }[] })
    .workers;
  return worker?.condition.state;
}

const metricsAt = async (url: string): Promise<string> => (await fetch(`${url}/metrics`)).text();

test("the gateway shows threads at work, turns in line and a blocked main thread, while it is blocked", async () => {
  await inWorld({ name: "with extensions", extensions: true }, async (world) => {
    const { url, trigger, ended, noted, journal, until } = world;
    const app = await world.startAppOf("isolated-app.mjs", { env: { TEST_THREADS: "1" } });
    const runIds = [await trigger("gated")];
    await noted(runIds[0] ?? "", "computing");
    await until("the thread at work", async () => (await stateAt(url))?.isolation?.busy === 1);
    expect(await stateAt(url)).toMatchObject({ isolation: { threads: 1 }, process: { pid: app.pid } });
    void app.ask("block");
    await noted("main", "blocked");
    // It comes while main is blocked, and so does its state.
    runIds.push(await trigger("gated"));
    await until("both, while main is blocked", async () => {
      const state = await stateAt(url);
      return (state?.mainLagMs ?? 0) > 0 && state?.isolation?.busy === 1 && state.isolation.queued === 1;
    });
    const blocked = await stateAt(url);
    expect(blocked?.requests.map(({ runId }) => runId)).toEqual(runIds);
    expect(blocked?.ageMs).toBeGreaterThanOrEqual(0);
    const lines = (await metricsAt(url)).split("\n");
    expect(lines).toContain('holdfast_pool_threads_busy{app="e2e",environment="default"} 1');
    expect(lines).toContain('holdfast_pool_turns_queued{app="e2e",environment="default"} 1');
    expect(journal.has("main", "unblocked"), "main was blocked all the while").toBe(false);
    journal.open("main");
    await until("a responsive main thread", async () => (await stateAt(url))?.mainLagMs === 0);
    journal.open("gated");
    for (const runId of runIds) expect(await ended(runId)).toMatchObject({ status: "COMPLETED", output: "computed" });
    await until("an idle pool", async () => {
      const state = await stateAt(url);
      return state?.isolation?.busy === 0 && state.isolation.queued === 0 && state.inFlight === 0;
    });
    await app.close();
  });
});

test("of a worker without the extension the gateway shows nothing that it has not seen itself", async () => {
  await inWorld({ name: "without extensions", extensions: false }, async (world) => {
    const app = await world.startAppOf("isolated-app.mjs");
    expect(await world.ended(await world.trigger("five"))).toMatchObject({ status: "COMPLETED" });
    expect(await stateAt(world.url)).toBeNull();
    expect(await metricsAt(world.url)).not.toContain("holdfast_pool_threads{");
    await app.close();
  });
});
