import { createDatabase, startTestPostgres } from "@holdfast/testing";
import type {} from "vitest";
import type { TestProject } from "vitest/node";
import { openPostgresStore } from "../src/store-postgres/index.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** URL of a running Postgres server; create databases on it, never write to the one it names. */
    postgresUrl: string;
    /** A database on it that has the schema: to copy it takes half as long as the migrations. */
    migratedTemplate: string;
  }
}

/** Starts one Postgres server for the suite; the returned function stops it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTestPostgres();
  const template = await createDatabase(server);
  const store = openPostgresStore({ url: template.url, maxConnections: 3 });
  await store.migrate().finally(() => store.close());
  project.provide("postgresUrl", server.url);
  project.provide("migratedTemplate", template.name);
  return async () => {
    // The server may be one that outlives the suite.
    await template.drop();
    await server.stop();
  };
}
