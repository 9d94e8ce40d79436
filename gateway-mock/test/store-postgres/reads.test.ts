import { foldHead } from "@holdfast/store";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { describe, expect, it } from "vitest";
import type { Database } from "../../src/store-postgres/connection/database.ts";
import type { Query } from "../../src/store-postgres/connection/query.ts";
import { listConnections } from "../../src/store-postgres/connections.ts";
import { earlierEvents } from "../../src/store-postgres/earlier-events.ts";
import { logRow, newId, useStore } from "./harness.ts";

const bench = useStore();

describe("The registry", () => {
  const connection = (id: string, gatewayId: string) => ({
    id,
    gatewayId,
    instanceId: "i",
    appIds: ["shop"],
    versions: ["shop@1"],
    queues: ["*"],
    partitions: [],
    capacity: 10,
    status: "READY",
    connectedMs: 1_700_000_000_000,
  });

  it("the registry lists connections until they are gone or stale", async () => {
    const ids = async () => (await bench.store.listConnections()).map((entry) => entry.id).sort();
    for (const [id, gateway] of [
      ["c1", "g1"],
      ["c2", "g1"],
      ["c3", "g2"],
    ] as const) {
      await bench.store.saveConnection(connection(id, gateway));
    }
    await bench.store.saveConnection({ ...connection("c1", "g1"), status: "DRAINING" });
    expect(await bench.store.listConnections()).toContainEqual({
      ...connection("c1", "g1"),
      status: "DRAINING",
      silentMs: 0,
    });
    await bench.store.touchGateway("g1");
    await bench.db.sql`UPDATE holdfast.gateways SET seen_at = seen_at - interval '20 seconds'`;
    const silent = (await bench.store.listConnections()).map(({ gatewayId, silentMs }) => [
      gatewayId,
      silentMs >= 20_000,
    ]);
    expect(Object.fromEntries(silent)).toEqual({ g1: true, g2: false });
    await bench.store.touchGateway("g1");
    expect((await bench.store.listConnections()).every(({ silentMs }) => silentMs < 20_000)).toBe(true);
    await bench.store.removeConnections(["c2"]);
    expect(await ids()).toEqual(["c1", "c3"]);
    await bench.db.sql`UPDATE holdfast.connections SET seen_at = seen_at - interval '1 hour'`;
    await bench.store.touchConnections("g1", 60_000);
    expect(await ids()).toEqual(["c1"]);
  });

  it("all connections are listed, however many there are: a run of an old version goes to its old workers", async () => {
    await bench.store.saveConnection({ ...connection("oldest", "g1"), connectedMs: 1 });
    await bench.db.sql`INSERT INTO holdfast.connections
      SELECT (jsonb_populate_record(c, jsonb_build_object('id', 'many-' || n, 'connected_at', now()))).*
      FROM holdfast.connections c, generate_series(1, 1500) n WHERE c.id = 'oldest'`;
    const listed = await bench.store.listConnections();
    expect([listed.length >= 1501, listed.some(({ id }) => id === "oldest")]).toEqual([true, true]);
    await bench.db.sql`DELETE FROM holdfast.connections`;
  });

  it("looks for earlier events are no writes under way, and all else is that may write", async () => {
    const scan = { after: "", name: "none", sinceMs: 0, notOfRun: "", text: null, pageSize: 1 };
    const statements: string[] = [];
    const query = (async (text: string) => {
      statements.push(text);
      return [];
    }) as Query;
    await earlierEvents(query).scanEvents(scan);
    const [text = ""] = statements;
    const mark = text.slice(0, text.indexOf("SELECT"));
    const others = postgres(bench.db.url, { max: 2, onnotice: () => {} });
    const sleeping = () => bench.db.sql`SELECT pid FROM pg_stat_activity WHERE datname = current_database()
      AND query LIKE '%pg_sleep%' AND pid <> pg_backend_pid() AND state = 'active'`;
    const begin = async (sent: string, count: number): Promise<void> => {
      others.unsafe(sent).catch(() => {});
      await waitFor(async () => (await sleeping()).length === count, { what: `${count} statements to be under way` });
    };
    try {
      const before = (await bench.store.writesUnderWay()).length;
      await begin(`${mark}SELECT pg_sleep(600)`, 1);
      expect((await bench.store.writesUnderWay()).length).toBe(before);
      await begin("SELECT pg_sleep(600)", 2);
      expect((await bench.store.writesUnderWay()).length).toBe(before + 1);
    } finally {
      for (const { pid } of await sleeping()) await bench.db.sql`SELECT pg_cancel_backend(${pid as number})`;
      await others.end();
    }
  });

  it("time in which the database takes no writes is not held against other gateways", async () => {
    const row = { id: "c", app_ids: "[]", app_versions: "[]", takes: null, connected_ms: 0, silent_ms: 70_000 };
    const query = (async () => [{ ...row, gateway_id: "g", instance_id: "i", status: "READY" }]) as Query;
    const silentMs = async (awayMs: number) => {
      const availability = { health: () => ({ awayMs }) } as Database["availability"];
      return (await listConnections({ query, availability })).map((one) => one.silentMs);
    };
    expect([await silentMs(0), await silentMs(66_000), await silentMs(90_000)]).toEqual([[70_000], [4_000], [0]]);
  });

  it("expired event keys and store markers are removed", async () => {
    const { sql } = bench.db;
    const keys = async () => (await sql`SELECT key FROM holdfast.event_keys ORDER BY key`).map((row) => row.key);
    const event = (key: string) => ({
      event: { id: newId(), name: "e", idempotencyKey: key, tsMs: 1, payloadJson: "{}" },
      runs: [],
    });
    await bench.store.intake([event("new"), event("old")]);
    await sql`UPDATE holdfast.event_keys SET received_at = received_at - interval '25 hours' WHERE key = 'old'`;
    await sql`INSERT INTO holdfast.writers VALUES ('gone', 1, now() - interval '8 days')`;
    await bench.store.touchConnections("g1", 60_000);
    expect(await keys()).toEqual(["new"]);
    expect(await sql`SELECT id FROM holdfast.writers WHERE id = 'gone'`).toEqual([]);
    expect(await bench.store.intake([event("new")])).toMatchObject([{ duplicate: true }]);
  });
});

describe("The consistency checker", () => {
  it("the checker rejects a log that contradicts itself", async () => {
    const row = (
      kind: "RUN_CREATED" | "STEP_WAITING" | "RUN_COMPLETED",
      headVersion: number,
      headStatus: "PENDING" | "COMPLETED",
    ) => ({ ...logRow(kind), seq: headVersion, atMs: 1, headVersion, headStatus }) as const;
    const created = row("RUN_CREATED", 1, "PENDING");
    expect(foldHead([created])).toMatchObject({ status: "PENDING", version: 1 });
    expect(() => foldHead([])).toThrow(/RUN_CREATED/);
    expect(() => foldHead([created, row("STEP_WAITING", 3, "PENDING")])).toThrow(/version 2/);
    expect(() => foldHead([created, row("STEP_WAITING", 2, "COMPLETED")])).toThrow(/without a matching log row/);
    expect(() => foldHead([created, row("RUN_COMPLETED", 2, "PENDING")])).toThrow(/RUN_COMPLETED/);
    expect(() =>
      foldHead([created, row("RUN_COMPLETED", 2, "COMPLETED"), row("RUN_COMPLETED", 3, "COMPLETED")]),
    ).toThrow(/2 times/);
  });
});
