export { checkInvariants } from "./check-invariants.ts";
export * from "./flow.ts";
export { foldHead } from "./fold-head.ts";
export { isRefusedForData } from "./pg-errors.ts";
export { openPostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";
export * from "./store.ts";
export type * from "./store-reads.ts";
