/** Reads a run for a route, within the caller's environment. */
import { environmentOf } from "@holdfast/store";
import type { Context } from "hono";

import { notFound } from "./errors.ts";

/**
 * A run that the caller may know of: those of other environments do not exist for it.
 * @throws HoldfastError `NOT_FOUND`
 */
export async function runOr404<Run extends { readonly head: { readonly functionId: string } }>(
  c: Context,
  id: string,
  read: (id: string) => Promise<Run | null | undefined>,
): Promise<Run> {
  const run = await read(id);
  if (!run || environmentOf(run.head.functionId) !== c.get("environment")) throw notFound(`There is no run ${id}.`);
  return run;
}
