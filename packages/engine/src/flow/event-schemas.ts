/** What an app says of the data of events that start a function: JSON Schema, by the event's name. Kept, and not applied. */
import { WIRE_LIMITS } from "@holdfast/protocol";
import type { Fields, SettingsChecks } from "./settings-checks.ts";

export type EventSchemas = Readonly<Record<string, Fields>>;

/** Characters of all of a function, as JSON. */
const MAX_LENGTH = 65_536;

export function readEventSchemas(check: SettingsChecks, value: unknown): EventSchemas {
  const schemas = check.record(value, "eventSchemas");
  if (JSON.stringify(schemas).length > MAX_LENGTH) {
    check.fail(`\`eventSchemas\` have more than ${MAX_LENGTH} characters; leave out the longest of them.`);
  }
  for (const [name, schema] of Object.entries(schemas)) {
    check.text(name, "a name in eventSchemas", WIRE_LIMITS.maxEventNameLength);
    check.record(schema, `eventSchemas["${name}"]`);
  }
  return schemas as EventSchemas;
}
