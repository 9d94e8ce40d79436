/** What the log says of a worker whose functions are not triggered. Pure. */
import { type AppRecord, plainName } from "@holdfast/store";

const MOST_NAMES = 10;

/** Who has just started this build wonders why nothing happens. Null: all of its functions are its app's. */
export function retiredWarning({ id, functions }: AppRecord, isActive: (functionId: string) => boolean): string | null {
  const retired = functions.map(({ slug }) => slug).filter((slug) => !isActive(slug));
  if (retired.length === 0) return null;
  const names = retired.slice(0, MOST_NAMES).map(plainName).join(", ");
  const more = retired.length > MOST_NAMES ? ` and ${retired.length - MOST_NAMES} more` : "";
  return `A worker of the app "${plainName(id)}" is not of its newest deployment, whose functions count: events and schedules do not start ${names}${more}.`;
}
