export { checkInvariants } from "./check-invariants.ts";
export { isOutdated, isRefusedForData, levelFor } from "./database/pg-errors.ts";
export { foldHead } from "./fold-head.ts";
export { functionTaken } from "./function-taken.ts";
export * from "./port/index.ts";
export { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";
