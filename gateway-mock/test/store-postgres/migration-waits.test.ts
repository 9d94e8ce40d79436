/** A migration that has to wait: it blocks others for moments only, and says whom it waits for. */
import postgres from "postgres";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type Migration, migrate, readMigrations } from "../../src/store-postgres/connection/migrate.ts";
import { createTestDatabase, type TestDatabase } from "./harness.ts";

/** What gateways of before lock while they migrate. */
const OLD_LOCK_KEY = 4_852_107_331;

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  await migrate(db.url);
});
afterAll(() => db.drop());

const known = readMigrations();
let added = 0;

/** All that there are, and one more that locks a table. */
function withOneMore(): readonly Migration[] {
  added += 1;
  const version = (known.at(-1)?.version ?? 0) + added;
  const sql = `ALTER TABLE holdfast.runs ADD COLUMN extra_${added} integer`;
  return [...known, ...Array.from({ length: added - 1 }, (_, at) => older(at)), { version, name: "more.sql", sql }];
}
const older = (at: number): Migration => ({ version: (known.at(-1)?.version ?? 0) + at + 1, name: "x.sql", sql: "" });

/** Another program with a transaction of its own. */
async function holding(statement: string): Promise<{ pid: number; release(): Promise<void> }> {
  const sql = postgres(db.url, { max: 1, onnotice: () => {}, connection: { application_name: "pg_dump" } });
  await sql.unsafe("BEGIN").simple();
  await sql.unsafe(statement);
  const [row] = await sql.unsafe("SELECT pg_backend_pid() AS pid");
  return { pid: Number(row?.pid), release: () => sql.end({ timeout: 5 }) };
}

/** A migration with what it has logged so far. */
function migrating(migrations: readonly Migration[]) {
  const lines: { level: string; message: string }[] = [];
  const done = migrate(db.url, { migrations, log: (level, message) => void lines.push({ level, message }) });
  return { lines, done };
}

it("a migration that waits for a dump says for which, and blocks queries for moments only", async () => {
  const dump = await holding("LOCK TABLE holdfast.runs IN ACCESS SHARE MODE");
  const { lines, done } = migrating(withOneMore());
  try {
    await vi.waitFor(() => expect(lines).not.toEqual([]), 20_000);
    expect(lines).toEqual([{ level: "warn", message: expect.stringContaining("holdfast.runs") }]);
    expect(lines[0]?.message).toMatch(
      new RegExp(`pid ${dump.pid} \\(pg_dump, in a transaction for \\d+ s, last statement: SELECT pg_`),
    );
    // Behind the waiting ALTER: it would be answered only after the dump, were the wait not cut short.
    expect(await db.sql`SELECT count(*)::int AS count FROM holdfast.runs`).toEqual([{ count: 0 }]);
    // A gateway that has nothing to migrate starts meanwhile.
    await migrate(db.url, { migrations: known });
  } finally {
    await dump.release();
  }
  await done;
  expect(lines.at(-1)).toEqual({ level: "info", message: expect.stringMatching(/version \d+, after \d+ s/) });
  expect(await db.sql`SELECT extra_1 FROM holdfast.runs`).toEqual([]);
});

it("a migration that waits for that of another gateway says so, and goes on after it", async () => {
  const other = await holding(`SELECT pg_advisory_xact_lock(${OLD_LOCK_KEY})`);
  const { lines, done } = migrating(withOneMore());
  try {
    await vi.waitFor(() => expect(lines).not.toEqual([]), 20_000);
    expect(lines[0]?.message).toMatch(new RegExp(`another gateway.*pid ${other.pid} `));
  } finally {
    await other.release();
  }
  await done;
  expect(await db.sql`SELECT extra_2 FROM holdfast.runs`).toEqual([]);
});

it("gateways that wait for the same dump take turns, and each migration is applied once", async () => {
  const dump = await holding("LOCK TABLE holdfast.runs IN ACCESS SHARE MODE");
  const migrations = withOneMore();
  const all = [migrating(migrations), migrating(migrations)];
  try {
    await vi.waitFor(() => expect(all.every(({ lines }) => lines.length > 0)).toBe(true), 20_000);
    expect(all.map(({ lines }) => lines[0]?.message).join("\n")).toMatch(/another gateway/);
  } finally {
    await dump.release();
  }
  await Promise.all(all.map(({ done }) => done));
  expect(await db.sql`SELECT extra_3 FROM holdfast.runs`).toEqual([]);
});

it("a user who may not create schemas can start a gateway once the schema is up to date", async () => {
  const role = `plain_${Date.now()}`;
  const url = new URL(db.url);
  await db.sql.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD 'plain-word-1'`);
  await db.sql.unsafe(`GRANT USAGE ON SCHEMA holdfast TO ${role}`);
  await db.sql.unsafe(`GRANT SELECT ON holdfast.migrations TO ${role}`);
  url.username = role;
  url.password = "plain-word-1";
  try {
    await migrate(url.href, { migrations: withOneMore().slice(0, -1) });
  } finally {
    await db.sql.unsafe(`DROP OWNED BY ${role}`);
    await db.sql.unsafe(`DROP ROLE ${role}`);
  }
});
