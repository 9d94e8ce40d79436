/**
 * The signature of a finished step, as the gateway has it on record, compared with the step that the code has now
 * (docs/decisions/0027).
 */
import type { OpName } from "@holdfast/protocol";
import { STEP_KINDS, type StepKind, stepKinds } from "../steps/step-kinds.ts";
import type { StepTools } from "../steps/step-types.ts";
import type { StepRecord } from "./step-record.ts";

/** What no finished step is recorded as, unless a kind of step sends it. */
type Unrecorded =
  | "AIGateway"
  | "RunComplete"
  | "SyncRunComplete"
  | "DeferAdd"
  | "DeferAbort"
  | "DiscoveryRequest"
  | "None";

/** In lower case, since records differ in that. */
type RecordedWord = Lowercase<Exclude<OpName, Unrecorded> | (typeof STEP_KINDS)[StepKind]["op"] | keyof StepTools>;

type ListedWord = Lowercase<(typeof STEP_KINDS)[StepKind]["recordedAs"][number]>;

/** An op or a tool that no kind of step lists as a record of it does not compile here: its replays would all fail. */
const KIND_OF_WORD: Readonly<Record<RecordedWord, StepKind>> = kindsByWord();

function kindsByWord(): Record<ListedWord, StepKind> {
  const pairs = stepKinds.flatMap((kind) => STEP_KINDS[kind].recordedAs.map((word) => [word.toLowerCase(), kind]));
  return Object.fromEntries(pairs) as Record<ListedWord, StepKind>;
}

const isRecordedWord = (word: string): word is RecordedWord => Object.hasOwn(KIND_OF_WORD, word);

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
  const kind = isRecordedWord(lower) ? KIND_OF_WORD[lower] : lower;
  const numbered = separator === ":" ? /^(.*)#(\d{1,9})$/s.exec(rest) : null;
  if (numbered === null) return { kind, name: rest, ordinal: undefined };
  return { kind, name: numbered[1] ?? "", ordinal: Number(numbered[2]) };
}

/** As an author knows the step: `the 2nd step, "charge" (step.run)`. Ordinals begin at 0. */
export function describeSignature({ kind, name, ordinal }: Signature): string {
  const which = ordinal === undefined ? "the step" : `the ${ordinalText(ordinal + 1)} step,`;
  return `${which} "${name}" (${Object.hasOwn(STEP_KINDS, kind) ? `step.${kind}` : kind})`;
}

function ordinalText(count: number): string {
  const isTeen = count % 100 > 10 && count % 100 < 14;
  return `${count}${(isTeen ? undefined : ["th", "st", "nd", "rd"][count % 10]) ?? "th"}`;
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
