/**
 * What no store takes, so that a run which is refused on one is refused on all: Postgres has no NUL in its texts, and
 * its counters have 32 bits. That JSON is JSON was checked before it came here (docs/decisions/0049).
 */
import { StoreError } from "../port/errors.ts";
import type { Unit } from "./plan.ts";

const COUNTERS: ReadonlySet<string> = new Set(["attempt", "iteration", "priority", "epoch"]);
const MAX_COUNTER = 2 ** 31;

/** @throws StoreError `data` */
export function checkStorable(unit: Unit): void {
  const problem = problemOf(unit, "");
  if (problem !== null) throw new StoreError("data", `The write was refused: ${problem}. Nothing was stored.`);
}

function problemOf(value: unknown, name: string): string | null {
  if (typeof value === "string") return value.includes("\0") ? `${name} contains the character NUL` : null;
  if (typeof value === "number") {
    const fits = !COUNTERS.has(name) || (Number.isInteger(value) && value >= -MAX_COUNTER && value < MAX_COUNTER);
    return fits ? null : `${name} is out of range`;
  }
  if (typeof value !== "object" || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    const problem = problemOf(inner, Array.isArray(value) ? name : key);
    if (problem !== null) return problem;
  }
  return null;
}
