/** Reads a query parameter that is on or off. */
import { HoldfastError } from "@holdfast/core";

/** @throws HoldfastError `BODY_INVALID` */
export function switchIn(name: string, text: string | undefined): boolean {
  if (text === undefined || text === "" || text === "0") return false;
  if (text === "1") return true;
  throw new HoldfastError("BODY_INVALID", `\`${name}\` must be 1 or 0.`);
}
