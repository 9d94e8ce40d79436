/** The periods of a policy as the functions of the schema read them: `holdfast.stays` in the migrations. */
import type { Retention, RetentionPolicy } from "@holdfast/store";

const shortOf = ({ completedMs, failedMs }: Retention): object => ({ c: completedMs, x: failedMs });

/** The same text for the same periods. */
export function periodsJson(policy: RetentionPolicy): string {
  const functions = [...policy.functions].sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify({
    ...shortOf(policy),
    f: Object.fromEntries(functions.map(([id, one]) => [id, shortOf(one)])),
  });
}
