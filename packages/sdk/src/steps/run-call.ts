/**
 * The call of `step.run`: which of its arguments are options, and which are the body's. Both are objects, so options
 * with the id are sure to be options; behind the body the names in an object decide, and what fits both is refused.
 */
import { messageOf } from "@holdfast/core";
import { WIRE_LIMITS } from "@holdfast/protocol";
import { isolationMarkOf } from "./isolated.ts";
import { durationMsOf } from "./points-in-time.ts";
import { readRetries, readRetryIf } from "./retry-policy.ts";
import { invalidStep, jsonCopyAndText, named, type StepCall, type StepId, whyNoCopy } from "./step-call.ts";
import { undoStepOf } from "./undo-step.ts";

interface RunOptionsInput {
  readonly compensate?: unknown;
  readonly retries?: unknown;
  readonly retryIf?: unknown;
  readonly timeout?: unknown;
}

const RUN_OPTION_NAMES = [
  "compensate",
  "retries",
  "retryIf",
  "timeout",
] as const satisfies readonly (keyof RunOptionsInput)[];
const RUN_OPTIONS: ReadonlySet<string> = new Set(RUN_OPTION_NAMES);
const ID_KEYS: ReadonlySet<string> = new Set(["id", "name", ...RUN_OPTION_NAMES]);
const VALID = `valid options: ${RUN_OPTION_NAMES.join(", ")}`;

export function runCall(id: StepId, body: unknown, rest: readonly unknown[]): StepCall {
  if (typeof body !== "function") throw invalidStep(id, "step.run() needs a function as its second argument");
  const withId = optionsWithId(id);
  const behind = withId === undefined ? optionsBehind(id, body as { readonly length: number }, rest) : undefined;
  const options = withId ?? behind;
  const args = behind === undefined ? rest : rest.slice(1);
  const kept = args.length === 0 ? args : keptArguments(id, args);
  const mark = isolationMarkOf(body);
  // The first time the body gets what the author gave.
  const run: StepCall["body"] = (_hash, given, running) => {
    const actual = given === kept ? args : given;
    return mark && running.isolate ? running.isolate(mark, actual) : body(...actual);
  };
  // Nearly all calls are of this kind, and objects that are spread are slow to make.
  if (typeof id === "string" && kept.length === 0 && options === undefined) return { id, kind: "run", body: run };
  return {
    ...named(id),
    kind: "run",
    body: run,
    ...(kept.length > 0 ? { args: kept } : {}),
    ...(options === undefined ? {} : runOptions(id, options)),
    ...undoStepOf(withId),
  };
}

/** They are stored with the step, and go with its result. */
function keptArguments(id: StepId, args: readonly unknown[]): readonly unknown[] {
  const kept = jsonCopyAndText(args);
  if (kept === undefined) throw invalidStep(id, `its arguments cannot be serialised as JSON: ${whyNoCopy(args)}`);
  const { maxOutputBytes } = WIRE_LIMITS;
  const { length } = kept.text;
  // A UTF-16 unit becomes at most three bytes, so most arguments need no counting.
  const bytes = length * 3 <= maxOutputBytes ? length : Buffer.byteLength(kept.text);
  if (bytes <= maxOutputBytes) return kept.copy;
  const much = `its arguments have ${bytes} bytes as JSON; the limit is ${maxOutputBytes}`;
  throw invalidStep(id, `${much}: store them elsewhere and pass a reference`);
}

/** Options in the object that holds the id: then all that follows the body is for the body. */
function optionsWithId(id: unknown): RunOptionsInput | undefined {
  if (typeof id !== "object" || id === null) return undefined;
  const keys = Object.keys(id);
  const unknown = keys.find((key) => !ID_KEYS.has(key));
  if (unknown !== undefined) throw invalidStep(id, `step.run() has no option \`${unknown}\`; ${VALID}`);
  return keys.some((key) => RUN_OPTIONS.has(key)) ? (id as RunOptionsInput) : undefined;
}

/**
 * The object behind the body, if it is options. One with a function is, since a function is no JSON; one without is,
 * where the body names no parameter for it and all its names are those of options.
 */
function optionsBehind(
  id: StepId,
  body: { readonly length: number },
  rest: readonly unknown[],
): RunOptionsInput | undefined {
  const value = rest[0];
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return undefined;
  const keys = Object.keys(value);
  const hasFunction = Object.values(value).some((each) => typeof each === "function");
  const isSpare = body.length < rest.length;
  const unknown = keys.find((key) => !RUN_OPTIONS.has(key));
  if (unknown === undefined) return keys.length > 0 && (hasFunction || isSpare) ? value : undefined;
  if (hasFunction) {
    throw invalidStep(
      id,
      `step.run() has no option \`${unknown}\`; ${VALID}. Step arguments are serialised as JSON and cannot include functions`,
    );
  }
  const known = keys.find((key) => RUN_OPTIONS.has(key));
  if (known === undefined || !isSpare) return undefined;
  throw invalidStep(
    id,
    `the object behind its body has \`${known}\`, an option of step.run(), and \`${unknown}\`, which is none, and the body names no parameter for it. Options: correct the name (${VALID}). An argument: name the parameter, or write () => fn(...)`,
  );
}

function runOptions(id: StepId, { compensate, retries, retryIf, timeout }: RunOptionsInput): Partial<StepCall> {
  const fail = (problem: string): never => {
    throw invalidStep(id, problem);
  };
  if (compensate !== undefined && typeof compensate !== "function") {
    throw invalidStep(id, "`compensate` must be a function");
  }
  return {
    ...(retries === undefined ? {} : { retries: readRetries(retries, fail) }),
    ...(retryIf === undefined ? {} : { retryIf: readRetryIf(retryIf, fail) }),
    ...(timeout === undefined ? {} : { timeoutMs: timeoutMsOf(id, timeout) }),
    ...(compensate === undefined
      ? {}
      : { compensate: compensate as NonNullable<StepCall["compensate"]>, opts: { compensate: true } }),
  };
}

/** At least a millisecond: 0 would fail each attempt. */
function timeoutMsOf(id: StepId, timeout: unknown): number {
  let timeoutMs = 0;
  try {
    timeoutMs = durationMsOf(timeout, "`timeout`");
  } catch (cause) {
    throw invalidStep(id, messageOf(cause).replace(/\.$/, ""), cause);
  }
  if (timeoutMs > 0) return timeoutMs;
  throw invalidStep(id, '`timeout` must be at least 1 ms, such as "30s"; leave it out for no limit');
}
