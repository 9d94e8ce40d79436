import { checkInvariants, type Store } from "@holdfast/store";
import { createDatabase } from "@holdfast/testing";
import postgres from "postgres";
import { afterAll, beforeAll, expect, inject } from "vitest";
import { openPostgresStore, type PostgresStoreOptions } from "../../src/store-postgres/index.ts";

export * from "../../../packages/store/test/contract/harness.ts";

export interface TestDatabase {
  readonly url: string;
  /** For looking behind the store's back. */
  readonly sql: postgres.Sql;
  drop(): Promise<void>;
}

export async function createTestDatabase(serverUrl = inject("postgresUrl")): Promise<TestDatabase> {
  const database = await createDatabase(serverUrl);
  const sql = postgres(database.url, { max: 2, onnotice: () => {} });
  return {
    url: database.url,
    sql,
    async drop() {
      await sql.end();
      await database.drop();
    },
  };
}

export interface Bench {
  readonly db: TestDatabase;
  readonly store: Store;
  /** Another gateway's store on the same database; closed with the bench. */
  another(options?: Partial<PostgresStoreOptions>): Store;
}

/**
 * One database for the file, migrated; after the last test the invariants of every run in it are checked. `defaults` are
 * those of all its stores.
 */
export function useStore(defaults: Partial<PostgresStoreOptions> = {}): Bench {
  const opened: Store[] = [];
  let db: TestDatabase | undefined;
  let store: Store | undefined;
  const database = (): TestDatabase => db as TestDatabase;
  const another = (options: Partial<PostgresStoreOptions> = {}): Store => {
    const made = openPostgresStore({ url: database().url, maxConnections: 4, ...defaults, ...options });
    opened.push(made);
    return made;
  };
  beforeAll(async () => {
    db = await createTestDatabase();
    store = another();
    await store.migrate();
  });
  afterAll(async () => {
    try {
      if (store) expect((await checkInvariants(store)).broken).toEqual([]);
    } finally {
      await Promise.all(opened.map((each) => each.close()));
      await db?.drop();
    }
  });
  return {
    get db() {
      return database();
    },
    get store() {
      return store as Store;
    },
    another,
  };
}
