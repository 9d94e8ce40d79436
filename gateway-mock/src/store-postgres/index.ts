export { readSchemaState, type SchemaState } from "./connection/schema-state.ts";
export { readServerFacts, type ServerFacts } from "./connection/server-facts.ts";
export { openPostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";
