import { expect, test } from "vitest";
import { inWorld, type World } from "./world.ts";

const RUNS = 700;

/** More than one page of waits for each event, and each event sent when the one before had been acknowledged. */
async function whatRunsGot(world: World, name: string, events: number): Promise<Record<string, number>> {
  const app = await world.startFixture("crowd-app.mjs", { env: { HOLDFAST_DEV: world.api.url } });
  await world.api.send(Array.from({ length: RUNS }, () => ({ name: `test/${name}`, data: {} })));
  await world.until("all runs to wait", async () => {
    const response = await fetch(new URL("/v1/runs?status=WAITING&limit=1000", world.api.url));
    const { runs } = (await response.json()) as { runs: readonly unknown[] };
    return runs.length === RUNS;
  });
  for (let n = 0; n < events; n += 1) await world.api.send({ name: "test/said", data: { n } });
  const counts: Record<string, number> = {};
  let seen = 0;
  await world.until("all runs to note what they got", async () => {
    for (const one of (await app.ask("got")) as string[]) {
      counts[one] = (counts[one] ?? 0) + 1;
      seen += 1;
    }
    return seen >= RUNS;
  });
  await app.close();
  return counts;
}

test("of several events each of many waits gets the one that came first", async () => {
  await inWorld({ name: "crowd", extensions: true, plain: false }, async (world) => {
    expect(await whatRunsGot(world, "once", 3)).toEqual({ "0": RUNS });
  });
});

test("EARLIER-5: waits one after the other for events since their run get them in the order in which they came", async () => {
  await inWorld({ name: "crowd-since", extensions: true, plain: false }, async (world) => {
    expect(await whatRunsGot(world, "twice", 3)).toEqual({ "0, 1": RUNS });
  });
});
