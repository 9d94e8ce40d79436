import { startTestPostgres } from "@holdfast/testing";
import type {} from "vitest";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** URL of a running Postgres server; create databases on it, never write to the one it names. */
    postgresUrl: string;
  }
}

/** Starts one Postgres server for the suite; the returned function stops it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTestPostgres();
  project.provide("postgresUrl", server.url);
  return () => server.stop();
}
