import type { LogLevel } from "@holdfast/core";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, did, ended, start, useGateway } from "./harness.ts";

const bench = useGateway();

interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
}

async function gatewayThatTells(): Promise<{ gateway: Gateway; said: () => string[] }> {
  const logged: LogLine[] = [];
  const gateway = await bench.gateway({ log: (level, message) => void logged.push({ level, message }) });
  const said = (): string[] =>
    logged.filter(({ level }) => level === "warn" || level === "error").map((one) => `${one.level} ${one.message}`);
  return { gateway, said };
}

/** Changes what the database allows, whatever it allows to others. */
async function asOwner(work: (sql: postgres.Sql, name: string) => Promise<unknown>): Promise<void> {
  const sql = postgres(bench.db.url, {
    max: 1,
    onnotice: () => {},
    connection: { default_transaction_read_only: "off" } as object,
  });
  await work(sql, bench.db.name).finally(() => sql.end());
}

const NO_WRITES = /^error The database accepts no writes: /;

const isReady = async (gateway: Gateway): Promise<boolean> => (await fetch(new URL("/ready", gateway.url))).ok;

const retries = async (gateway: Gateway): Promise<number> =>
  ((await call(gateway, "/v1/metrics")) as { store: { batchRetries: number } }).store.batchRetries;

async function isTriedAgain(gateway: Gateway, times: number): Promise<void> {
  const before = await retries(gateway);
  await waitFor(async () => (await retries(gateway)) >= before + times, {
    what: `${times} more tries`,
    timeoutMs: 100_000,
  });
}

async function refuseInserts(condition: string, code: string): Promise<void> {
  await asOwner((sql) =>
    sql
      .unsafe(
        `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '${code}'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON holdfast.events FOR EACH ROW WHEN (${condition}) EXECUTE FUNCTION refuse()`,
      )
      .simple(),
  );
}

const allowInserts = (): Promise<void> => asOwner((sql) => sql`DROP FUNCTION refuse CASCADE`);

const readOnly: readonly [string, () => Promise<void>, () => Promise<void>][] = [
  [
    "each new session is read-only",
    () =>
      asOwner(async (sql, name) => {
        await sql.unsafe(`ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
        await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name LIKE 'holdfast-gateway%'`;
      }),
    () => asOwner((sql, name) => sql.unsafe(`ALTER DATABASE "${name}" RESET default_transaction_read_only`)),
  ],
  ["the disk is full", () => refuseInserts("true", "53100"), allowInserts],
];

test.each(readOnly)(
  "RUNNER-5: %s: an outage is logged once, and work continues afterwards",
  async (_what, begin, end) => {
    const { gateway, said } = await gatewayThatTells();
    const worker = await bench.worker(gateway);
    const [runId = ""] = await start(gateway);
    const { request } = await worker.request();
    expect(await isReady(gateway)).toBe(true);

    await begin();
    const replied = worker.replied(request, { status: "DONE", value: 1 });
    const others = start(gateway, 3);
    // Ended connections may have made it an outage before, for as long as it took to open others.
    await waitFor(() => said().some((line) => NO_WRITES.test(line)), { what: "the outage" });
    await isTriedAgain(gateway, 5);
    // What only reads is answered, and does not make it ready.
    expect(await call(gateway, `/v1/runs/${runId}`)).toMatchObject({ status: expect.any(String) });
    expect(await isReady(gateway)).toBe(false);
    const before = said();
    expect(before.filter((line) => NO_WRITES.test(line))).toHaveLength(1);
    expect(before.at(-1)).toMatch(NO_WRITES);

    await end();
    await waitFor(() => isReady(gateway), { what: "the gateway to be ready again" });
    await replied;
    const runs = await others;
    const worked = (async () => {
      for (let times = 0; times < runs.length; times += 1) {
        const next = await worker.request();
        await worker.replied(next.request, { status: "DONE", value: did("late") });
      }
    })();
    for (const id of [runId, ...runs]) expect((await ended(gateway, id)).status).toBe("COMPLETED");
    await worked;
    expect(said()).toHaveLength(before.length + 1);
    expect(said().at(-1)).toMatch(/^warn The database is back after .*; \d+ calls failed meanwhile/);
  },
);

test("RUNNER-5: a write that the database rejects every time fails alone, and is not an outage", async () => {
  const { gateway, said } = await gatewayThatTells();
  await bench.worker(gateway);
  await refuseInserts("NEW.name = 'poison'", "53200");
  const send = async (name: string): Promise<number> =>
    (await fetch(new URL("/e/test", gateway.url), { method: "POST", body: JSON.stringify({ name, data: {} }) })).status;
  const names = ["shop/order", "shop/order", "poison", "shop/order"];
  expect(await Promise.all(names.map(send))).toEqual([200, 200, 503, 200]);
  expect(said()).toEqual([]);
  expect(await isReady(gateway)).toBe(true);
  await allowInserts();
});
