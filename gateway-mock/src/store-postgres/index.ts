export { checkInvariants } from "./check-invariants.ts";
export { isOutdated, isRefusedForData, levelFor } from "./connection/pg-errors.ts";

export { openPostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";
