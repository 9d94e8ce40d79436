import type { CommitsLost } from "@holdfast/store";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { expect, test } from "vitest";
import { keepEarlier } from "../store-postgres/going-back.ts";
import { call, useGateway } from "./harness.ts";

const bench = useGateway();

interface Ready {
  readonly ready: boolean;
  readonly reason?: string;
  readonly commitsLost?: CommitsLost;
}

test("a gateway whose database went back is not ready while it sends again, then ready, and says so; the event is there", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const send = (): Promise<{ ids: string[] }> =>
    call(gateway, "/e/dev", { method: "POST", body: JSON.stringify({ name: "shop/order", data: {} }) }) as Promise<{
      ids: string[];
    }>;
  await send();
  const earlier = await keepEarlier(bench.db.url);
  const copy = postgres(earlier.url, { max: 1, onnotice: () => {} });
  await copy.unsafe(`CREATE FUNCTION holdfast.slow() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(8); RETURN NEW; END'`);
  await copy.unsafe(
    "CREATE TRIGGER slow BEFORE INSERT ON holdfast.events FOR EACH ROW EXECUTE FUNCTION holdfast.slow()",
  );
  await copy.end();
  const [eventId = ""] = (await send()).ids;
  await earlier.goBack();
  const ready = async (): Promise<Ready> => (await (await fetch(new URL("/ready", gateway.url))).json()) as Ready;
  await waitFor(async () => (await ready()).reason?.startsWith("COMMITS_LOST") === true, {
    what: "the gateway to say that it sends again",
  });
  await waitFor(async () => (await ready()).ready, { what: "the gateway to be ready" });
  const { commitsLost } = await ready();
  expect(commitsLost).toMatchObject({ isOver: true, incomplete: [] });
  expect(commitsLost?.restored).toBe(commitsLost?.writes);
  const event = (await call(gateway, `/v1/events/${eventId}`)) as { runIds: string[] };
  expect(event).toMatchObject({ id: eventId });
  for (const runId of event.runIds) {
    const run = (await call(gateway, `/v1/runs/${runId}`)) as { commitsLost: { writes: number; restored: number }[] };
    expect(run.commitsLost).toHaveLength(1);
  }
  expect(await call(gateway, "/v1/metrics")).toMatchObject({ database: { commitsLost: { isOver: true } } });
  worker.cut();
});
