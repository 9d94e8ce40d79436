import type { Param } from "./database.ts";

/** One statement with its parameters. */
export interface Statement {
  readonly text: string;
  readonly params: readonly Param[];
}
