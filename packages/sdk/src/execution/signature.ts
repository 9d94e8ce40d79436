import type { StepRecord } from "./step-record.ts";

const KIND_OF_OP: Readonly<Record<string, string>> = {
  steprun: "run",
  steperror: "run",
  stepfailed: "run",
  stepplanned: "run",
  step: "run",
  run: "run",
  sendevent: "run",
  sendsignal: "run",
  sleep: "sleep",
  sleepuntil: "sleep",
  waitforevent: "waitForEvent",
  waitforsignal: "waitForSignal",
  invoke: "invoke",
  invokefunction: "invoke",
  gateway: "fetch",
  fetch: "fetch",
};

/** What a gateway has on record for a finished step. */
export interface Signature {
  readonly kind: string;
  readonly name: string;
  readonly ordinal: number | undefined;
}

/** `<kind>:<name>#<ordinal>`, or without a number `<kind> <name>` or `<kind>:<name>`. */
export function parseSignature(text: string): Signature {
  const [, word = "", separator, rest = ""] = /^([A-Za-z.]*)([: ]?)(.*)$/s.exec(text) ?? [];
  const lower = word.replace("step.", "").toLowerCase();
  const kind = KIND_OF_OP[lower] ?? lower;
  const numbered = separator === ":" ? /^(.*)#(\d{1,9})$/s.exec(rest) : null;
  if (numbered === null) return { kind, name: rest, ordinal: undefined };
  return { kind, name: numbered[1] ?? "", ordinal: Number(numbered[2]) };
}

export function describeSignature({ kind, name, ordinal }: Signature): string {
  return `"${kind}:${name}"${ordinal === undefined ? "" : ` (number ${ordinal})`}`;
}

export function describeStep({ call, identity, ordinal }: StepRecord): string {
  return describeSignature({ kind: kindOf(call), name: identity.fullId, ordinal });
}

const kindOf = (call: StepRecord["call"]): string => (call.body === undefined ? call.kind : "run");

/**
 * Compares what the gateway has on record for a finished step with the step that the code has under that id now. The hash
 * vouches for the id, so only another kind is a conflict; kinds this SDK does not know are: nothing it can call was
 * recorded like that.
 */
export function signatureConflict(
  recorded: string | undefined,
  record: StepRecord,
): { readonly recorded: string; readonly found: string } | undefined {
  if (recorded === undefined || recorded === "") return undefined;
  const signature = parseSignature(recorded);
  if (signature.kind === kindOf(record.call)) return undefined;
  return { recorded: describeSignature(signature), found: describeStep(record) };
}
