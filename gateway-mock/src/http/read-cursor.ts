/** Reads where a list of runs or events goes on: the id that the page before has ended with. */
import { HoldfastError, isUlid } from "@holdfast/core";

/**
 * Undefined when it is absent: the list begins with the newest.
 * @throws HoldfastError `BODY_INVALID`
 */
export function cursorIn(text: string | undefined): string | undefined {
  if (text === undefined || isUlid(text)) return text;
  throw new HoldfastError(
    "BODY_INVALID",
    "`cursor` must be the `nextCursor` of the page before, as it was answered; leave it out to begin with the newest.",
  );
}
