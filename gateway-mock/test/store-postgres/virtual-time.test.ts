import { afterEach, expect, test } from "vitest";
import { migrate } from "../../src/store-postgres/connection/migrate.ts";
import { virtualTime } from "../../src/store-postgres/connection/virtual-time.ts";
import { createTestDatabase, type TestDatabase } from "./harness.ts";

let db: TestDatabase | undefined;
afterEach(() => db?.drop());

test("a statement asks once for the time that can be moved, however many rows it is about", async () => {
  db = await createTestDatabase();
  await migrate(db.url);
  await db.sql.unsafe("CREATE SEQUENCE asked");
  await db.sql.unsafe(`CREATE OR REPLACE FUNCTION holdfast.now() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM nextval('asked');
  RETURN pg_catalog.now();
END $$`);
  const text =
    "SELECT count(*)::int AS rows FROM generate_series(1, 1000) i WHERE now() + i * interval '1 second' > now()";
  const [row] = await db.sql.unsafe(virtualTime().sql(text));
  expect(row?.rows).toBe(1000);
  const [asked] = await db.sql`SELECT last_value::int AS times, is_called FROM asked`;
  expect(asked?.is_called).toBe(true);
  // It is named twice; whoever plans may ask as well.
  expect(asked?.times).toBeLessThan(20);
});
