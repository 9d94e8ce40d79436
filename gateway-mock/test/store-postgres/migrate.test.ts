import { once } from "node:events";
import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migrate, readMigrations } from "../../src/store-postgres/connection/migrate.ts";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { createTestDatabase, seedRun, type TestDatabase } from "./harness.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const versions = async (): Promise<number[]> =>
  (await db.sql`SELECT version FROM holdfast.migrations ORDER BY version`).map((row) => Number(row.version));

describe("Migrations", () => {
  it("migrations are numbered from 1 without a gap", () => {
    const all = readMigrations();
    expect(all.length).toBeGreaterThan(0);
    const numbers = all.map((migration) => migration.version);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  });

  it("migrations run once when several gateways start at the same time", async () => {
    await Promise.all([1, 2, 3, 4, 5].map(() => migrate(db.url)));
    expect(await versions()).toEqual(readMigrations().map((migration) => migration.version));
    await migrate(db.url);
  });

  it("migrations continue from the database's state, and a failed one leaves nothing behind", async () => {
    const known = readMigrations();
    const next = {
      version: (known.at(-1)?.version ?? 0) + 1,
      name: "next.sql",
      sql: "CREATE TABLE holdfast.extra (id int); SELECT 1/0",
    };
    await expect(migrate(db.url, { migrations: [...known, next] })).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(await versions()).toHaveLength(known.length);
    expect(await db.sql`SELECT to_regclass('holdfast.extra') AS name`).toMatchObject([{ name: null }]);
    const mended = { ...next, sql: "CREATE TABLE holdfast.extra (id int); DROP TABLE holdfast.extra" };
    await migrate(db.url, { migrations: [...known, mended] });
    expect(await versions()).toHaveLength(known.length + 1);
  });

  it("a schema made by a newer gateway is rejected", async () => {
    await expect(migrate(db.url)).rejects.toMatchObject({ code: "DATABASE_SCHEMA_NEWER" });
    const store = openPostgresStore({ url: db.url });
    await expect(store.migrate()).rejects.toMatchObject({ code: "DATABASE_SCHEMA_NEWER" });
    await store.close();
    await db.sql`DELETE FROM holdfast.migrations WHERE version > ${readMigrations().at(-1)?.version ?? 0}`;
  });
});

describe("Unusable databases", () => {
  it("an unreachable database is reported with the driver's reason and without the password", async () => {
    const url = new URL(db.url);
    url.password = "s3cret-word";
    url.port = "1";
    const refused = await migrate(url.href).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "DATABASE_UNREACHABLE" });
    expect(String(refused)).toContain("ECONNREFUSED");
    expect(String(refused)).not.toContain("s3cret-word");
    const missing = new URL(db.url);
    missing.pathname = "/no_such_database";
    await expect(migrate(missing.href)).rejects.toMatchObject({
      code: "DATABASE_UNREACHABLE",
      message: expect.stringContaining("no_such_database"),
    });
  });

  it("a database server that is too old is rejected", async () => {
    const server = await openOldServer();
    await expect(migrate(server.url)).rejects.toMatchObject({
      code: "DATABASE_TOO_OLD",
      message: expect.stringContaining("Postgres 13"),
    });
    await server.close();
  });
});

it("the store uses at most maxConnections connections, whatever the load", async () => {
  const store = openPostgresStore({ url: db.url, maxConnections: 5 });
  store.onWake(() => {});
  const work = Array.from({ length: 60 }, async () => {
    const run = await seedRun(store);
    await Promise.all([
      store.loadRuns([run.runId]),
      store.getRun(run.runId),
      store.queueDepth(),
      store.listRuns({ limit: 3 }),
    ]);
  });
  let most = 0;
  let working = true;
  const watcher = (async () => {
    while (working) {
      const [row] = await db.sql`SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'holdfast-gateway%'`;
      most = Math.max(most, Number(row?.count));
    }
  })();
  await Promise.all(work);
  working = false;
  await watcher;
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(5);
  await store.close();
});

/** Speaks just enough of the server's side to say that it is Postgres 13. */
async function openOldServer(): Promise<{ url: string; close(): Promise<void> }> {
  const message = (type: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(5);
    head.write(type, 0, "latin1");
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const ready = message("Z", Buffer.from("I"));
  const column = Buffer.alloc(2 + 8 + 18);
  column.writeInt16BE(1, 0);
  column.write("version\0", 2, "latin1");
  column.writeInt32BE(23, 2 + 8 + 6);
  const value = Buffer.alloc(6);
  value.writeInt16BE(1, 0);
  value.writeInt32BE(6, 2);
  const answer = Buffer.concat([
    message("T", column),
    message("D", Buffer.concat([value, Buffer.from("130012")])),
    message("C", Buffer.from("SELECT 1\0")),
    ready,
  ]);
  const server = createServer((socket) => {
    socket.on("error", () => {});
    let started = false;
    socket.on("data", (chunk) => {
      if (!started) socket.write(Buffer.concat([message("R", Buffer.alloc(4)), ready]));
      else if (chunk[0] === 0x51) socket.write(answer);
      started = true;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    url: `postgres://old@127.0.0.1:${port}/old`,
    async close() {
      server.close();
      await once(server, "close");
    },
  };
}
