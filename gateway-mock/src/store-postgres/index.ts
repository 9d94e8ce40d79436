export { readSchemaState, type SchemaState } from "./connection/schema-state.ts";
export { openPostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";
