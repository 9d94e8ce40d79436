/** The data of an invocation, checked where it is made: the run would fail by it, and its id would be taken. */
import { isRecord } from "@holdfast/protocol";
import { validateData } from "../events/event-types.ts";
import { definitionOf } from "./define-function.ts";
import { onlyEventOf, schemaFor } from "./registry.ts";

/**
 * By the schema that checks it when the run starts. A reference or a name has none here.
 * @throws HoldfastError `EVENT_INVALID`
 */
export async function checkInvocationData(target: unknown, options: unknown): Promise<void> {
  const definition = definitionOf(target);
  const event = definition && onlyEventOf(definition);
  if (definition === undefined || event === undefined) return;
  const schema = schemaFor({ definition, client: definition.client }, event);
  const data = (isRecord(options) ? options.data : undefined) ?? {};
  // What is no object is refused with all that is wrong with the options.
  if (schema && isRecord(data)) await validateData(schema, data, event);
}
