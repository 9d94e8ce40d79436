export { checkInvariants } from "./check-invariants.ts";
export { foldHead } from "./fold-head.ts";
export { isRefusedForData } from "./pg-errors.ts";
export * from "./port/index.ts";
export { openPostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";
