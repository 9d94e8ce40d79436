/** What input runs of a graph take. */
import { measureJson } from "../json/json-size.ts";
import { schemaProblems } from "./check-input.ts";
import { GRAPH_LIMITS } from "./limits.ts";
import type { Problems } from "./problems.ts";

export function checkInputSchema(schema: unknown, problems: Problems): void {
  if (schema === undefined) return;
  const { maxDepth, maxInputSchemaChars: maxChars } = GRAPH_LIMITS;
  const size = measureJson(schema, { maxChars, maxDepth });
  if (!size.ok) {
    const message = `\`input\` has ${size.what}.`;
    problems.add({ code: "TOO_LARGE", path: "input", message, fix: "Describe less of the input." });
    return;
  }
  for (const problem of schemaProblems(schema)) {
    const fix = "Correct the schema; it is JSON Schema, draft 2020-12, without references.";
    problems.add({ code: "SCHEMA_INVALID", path: "input", message: `The schema of the input: ${problem}.`, fix });
  }
}
