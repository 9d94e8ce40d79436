import { HoldfastClient } from "holdfast/client";
import { expect, test } from "vitest";
import { inWorld } from "./world.ts";

test("a process without functions sends events and signals, and reads what has come of them", async () => {
  await inWorld({ name: "client", extensions: true }, async (world) => {
    const client = new HoldfastClient({ id: "sender", isDev: true, baseUrl: world.api.url }, {});
    await world.startFixture("waiting-app.mjs", { env: { HOLDFAST_DEV: world.api.url } });
    expect(await client.getRun("01JD000000000000000000XXXX")).toBeUndefined();

    const { ids } = await client.send({ name: "test/waits", data: { n: 7 } });
    const eventId = ids[0] ?? "";
    await world.until("the event to start a run", async () => (await client.listRuns({ eventId })).runs.length > 0);
    const [run] = (await client.listRuns({ eventId })).runs;
    expect(run).toMatchObject({ eventId, eventName: "test/waits", functionId: "waiting-waits", endedMs: null });
    const runId = run?.id ?? "";

    await world.until("the wait for the payment", async () => (await client.getRun(runId))?.status === "WAITING");
    await client.send({ name: "test/paid", data: { n: 7 } });
    let signalled: string | undefined;
    await world.until("the wait for the signal", async () => {
      signalled = (await client.sendSignal({ signal: "go-7", data: { by: "client" } })).runId;
      return signalled !== undefined;
    });
    expect(signalled).toBe(runId);
    await world.ended(runId);
    expect(await client.getRun(runId)).toMatchObject({
      status: "COMPLETED",
      output: { signal: { data: { by: "client" } } },
      error: null,
    });
    const all = await client.listRuns({ status: "COMPLETED", limit: 1 });
    expect(all.runs).toHaveLength(1);
  });
});
