export { checkInvariants } from "./check-invariants.ts";
export { openPostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";
