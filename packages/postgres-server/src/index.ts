export type { PostgresExit, PostgresOptions, PostgresServer, StopMode } from "./options.ts";
export { startPostgres } from "./postgres-server.ts";
