/** Data against a JSON schema, without making code of it: the page's policy allows none. Pure. */
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";

/** What is wrong with data, in a sentence; null: nothing. */
export type DataCheck = (data: unknown) => string | null;

const NO_CHECK: DataCheck = () => null;

/** A schema that cannot be understood is no reason not to send: the app checks what it gets. */
export function checkOf(schema: unknown): DataCheck {
  if (typeof schema !== "object" || schema === null) return NO_CHECK;
  const validator = new Validator(schema as Schema, "2020-12", false);
  return (data) => {
    try {
      const { valid, errors } = validator.validate(data);
      return valid ? null : textOf(errors);
    } catch {
      return null;
    }
  };
}

/** What holds an error is said before it, and of what is not allowed at all only that it is false. */
function textOf(errors: readonly OutputUnit[]): string {
  const said = errors.filter(({ keyword }) => keyword !== "false").at(-1);
  if (said === undefined) return "It does not fit the schema.";
  const path = said.instanceLocation.split("/").slice(1).map(decoded).join(".");
  return path === "" ? said.error : `“${path}”: ${said.error}`;
}

const decoded = (part: string): string => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
