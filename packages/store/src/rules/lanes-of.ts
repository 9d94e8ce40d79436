/** The names of a lane: of its jobs that have not started, and of those that have. */
import type { Lane } from "../port/work.ts";

export function lanesOf({ id }: Lane): { readonly id: string; readonly startedId: string } {
  return { id, startedId: id.split("~", 1)[0] ?? "" };
}
