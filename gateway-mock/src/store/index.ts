export { openPostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";
export * from "./store.ts";
export type * from "./store-reads.ts";
