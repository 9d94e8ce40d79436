import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  checkLeaks,
  createDatabase,
  createTemplate,
  startTestPostgres,
  TEST_DATABASE_URL,
  type TestPostgres,
  testPostgresGlobalSetup,
} from "../src/index.ts";

checkLeaks({ beforeAll, afterAll });

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(text);
  } finally {
    await sql.end();
  }
}

let server: TestPostgres;
let before: string | undefined;
beforeAll(async () => {
  before = process.env[TEST_DATABASE_URL];
  delete process.env[TEST_DATABASE_URL];
  server = await startTestPostgres();
});
afterAll(async () => {
  await server.stop();
  if (before !== undefined) process.env[TEST_DATABASE_URL] = before;
});

describe("Databases", () => {
  test("test databases are isolated from each other and dropped at the end of the block", async () => {
    let url = "";
    {
      await using a = await createDatabase(server);
      await using b = await createDatabase(server.url);
      url = a.url;
      await query(a.url, "create table t ()");
      expect(await query(b.url, "select to_regclass('t') as t")).toEqual([{ t: null }]);
    }
    await expect(query(url, "select 1")).rejects.toThrow(/does not exist/);
  });

  test("a test database can be dropped with open connections, and twice", async () => {
    const db = await createDatabase(server, { name: "mine" });
    expect(db.name).toBe("mine");
    const sql = postgres(db.url, { max: 1, onnotice: () => {}, onclose: () => {} });
    onTestFinished(() => sql.end());
    await sql`select 1`;
    await Promise.all([db.drop(), db.drop()]);
    expect(await query(server.url, "select 1 from pg_database where datname = 'mine'")).toEqual([]);
  });

  test("test databases are copied from a template that is built once for all callers", async () => {
    let built = 0;
    const build = async (url: string): Promise<void> => {
      built += 1;
      await query(url, "create table t as select 42 as n");
    };
    const names = await Promise.all([1, 2, 3].map(() => createTemplate(server, "v1", build)));
    expect(new Set(names).size).toBe(1);
    expect(built).toBe(1);
    expect(await createTemplate(server, "v2", build)).not.toBe(names[0]);
    const copies = await Promise.all(
      Array.from({ length: 6 }, () => createDatabase(server, { template: names[0] ?? "" })),
    );
    for (const copy of copies) expect(await query(copy.url, "select n from t")).toEqual([{ n: 42 }]);
    await Promise.all(copies.map((copy) => copy.drop()));
  });

  test("a template whose building failed is built again", async () => {
    const fail = async (): Promise<void> => {
      throw new Error("bad migration");
    };
    await expect(createTemplate(server, "broken", fail)).rejects.toThrow("bad migration");
    const name = await createTemplate(server, "broken", (url) => query(url, "create table ok ()").then(() => {}));
    await using db = await createDatabase(server, { template: name });
    expect(await query(db.url, "select to_regclass('ok') as t")).toEqual([{ t: "ok" }]);
  });

  test("a test database needs a server and a valid name", async () => {
    await expect(createDatabase()).rejects.toMatchObject({ code: "OPTION_MISSING" });
    await expect(createDatabase("nonsense")).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(createDatabase(server, { name: 'x"y' })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });
});

describe("A test server", () => {
  test("a test server keeps its data over a restart and a kill", async () => {
    await using own = await startTestPostgres({ own: true });
    await query(own.url, "create table t as select 1 as n");
    await own.kill();
    await expect(query(own.url, "select 1")).rejects.toThrow(/ECONNREFUSED/);
    await own.restart();
    await own.restart();
    expect(await query(own.url, "select n from t")).toEqual([{ n: 1 }]);
  });

  test("a test server from global setup is shared by all test files, which cannot kill it", async () => {
    const teardown = await testPostgresGlobalSetup();
    try {
      const shared = await startTestPostgres();
      expect(shared.url).toBe(process.env[TEST_DATABASE_URL]);
      await using db = await createDatabase();
      expect(await query(db.url, "select 1 as n")).toEqual([{ n: 1 }]);
      await expect(shared.kill()).rejects.toMatchObject({ code: "OPTION_INVALID" });
      await expect(shared.restart()).rejects.toThrow(/own: true/);
      await shared.stop();
      expect(await query(shared.url, "select 1 as n")).toEqual([{ n: 1 }]);
      expect(await testPostgresGlobalSetup()).toBeTypeOf("function");
    } finally {
      await teardown();
    }
    expect(process.env[TEST_DATABASE_URL]).toBeUndefined();
  });

  test("a test server does not sync to disk unless configured to", async () => {
    expect(await query(server.url, "show fsync")).toEqual([{ fsync: "off" }]);
  });
});
