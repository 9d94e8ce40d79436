import type { StepRecord } from "./step-record.ts";

const KIND_OF_OP: Readonly<Record<string, string>> = {
  steprun: "run",
  steperror: "run",
  stepfailed: "run",
  stepplanned: "run",
  step: "run",
  run: "run",
  sendevent: "run",
  sleep: "sleep",
  sleepuntil: "sleep",
};

/**
 * Compares what the gateway has on record for a finished step (`<kind>:<id>` or `<op> <name>`) with the step that the
 * code has under that id now. The hash vouches for the id, so only another kind is a conflict; kinds this SDK does not
 * know are: nothing it can call was recorded like that.
 */
export function signatureConflict(
  recorded: string | undefined,
  record: StepRecord,
): { readonly recorded: string; readonly found: string } | undefined {
  if (recorded === undefined || recorded === "") return undefined;
  const kind = /^[A-Za-z.]+/.exec(recorded)?.[0].replace("step.", "").toLowerCase() ?? "";
  const known = KIND_OF_OP[kind] ?? kind;
  const now = record.call.body === undefined ? "sleep" : "run";
  if (known === now) return undefined;
  return { recorded: `"${recorded}"`, found: `"${record.call.kind}:${record.identity.fullId}"` };
}
