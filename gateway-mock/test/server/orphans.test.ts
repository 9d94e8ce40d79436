import type { Log } from "@holdfast/core";
import { createDatabase, waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { expect, inject, test } from "vitest";
import { type GatewayPorts, REAL_PORTS, startGatewayOn } from "../../src/server.ts";
import { call, metrics, runDetail, start } from "./harness.ts";

/** Every wait for a sweep is over at once; others are as they are. */
const quickSweeps = (): GatewayPorts => ({
  ...REAL_PORTS,
  timers: { set: (ms, fire, options) => REAL_PORTS.timers.set(ms >= 5_000 && ms <= 15_000 ? 20 : ms, fire, options) },
});

test("a run that nothing moves on is counted, named in the log once, and forgotten when it has ended", async () => {
  const lines: { readonly level: string; readonly message: string }[] = [];
  const log: Log = (level, message) => lines.push({ level, message });
  const db = await createDatabase(inject("postgresUrl"));
  const sql = postgres(db.url, { max: 1, onnotice: () => {} });
  const gateway = await startGatewayOn(quickSweeps(), { port: 0, databaseUrl: db.url, log });
  const orphans = async (): Promise<unknown> => (await metrics(gateway)).dispatcher.orphans;
  try {
    await sql`INSERT INTO holdfast.functions (slug, uuid, app_id, app_version, sdk, name, triggers, config, active, updated_at)
VALUES ('shop-order', gen_random_uuid(), 'shop', '', '', 'order', '[{"event":"shop/order"}]', '{}', true, now())`;
    const [orphan = "", other = ""] = await waitFor(
      async () => {
        const runIds = await start(gateway, 2);
        return runIds.length === 2 ? runIds : undefined;
      },
      { what: "the function to be known" },
    );
    expect(await call(gateway, "/v1/orphans")).toEqual({ orphans: [], looked: 2 });
    expect(await orphans()).toBe(0);
    await sql`DELETE FROM holdfast.queue WHERE run_id = ${orphan}`;
    await waitFor(async () => (await orphans()) === 1, { what: "a sweep to find it" });
    expect(await call(gateway, "/v1/orphans")).toEqual({ orphans: [orphan], looked: 2 });
    expect((await runDetail(gateway, orphan)).waiting).toBeNull();
    expect((await runDetail(gateway, other)).waiting?.reason).toBe("NO_WORKER");
    const errors = lines.filter(({ level }) => level === "error").map(({ message }) => message);
    expect(errors).toEqual([
      `Run ${orphan} has not ended, and nothing moves it on: neither a job nor a wait. Cancel it, or run it again.`,
    ]);
    await call(gateway, `/v1/runs/${orphan}/cancel`, { method: "POST" });
    await waitFor(async () => (await orphans()) === 0, { what: "it to be forgotten" });
  } finally {
    await gateway.close();
    await sql.end();
    await db.drop();
  }
});
