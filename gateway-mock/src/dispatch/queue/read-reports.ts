/**
 * Reads replies and checkpoints off the wire into what decisions take, within the limits for options and errors; large
 * ones in several turns (docs/decisions/0049).
 */
import { HoldfastError, messageOf, nextTurn } from "@holdfast/core";
import {
  CHARS_A_TURN,
  JsonText,
  LargeJsonReader,
  type PassReport,
  readLargeJson,
  readReport,
  SMALL_BYTES,
} from "@holdfast/engine";
import { isRecord, type Op, parseJsonBytes, parseOps, type SdkResponse, WIRE_LIMITS } from "@holdfast/protocol";

/** Of the options of one step that are built; data of an invocation and arguments of a body are not. */
export const MAX_OPTION_VALUES = 20_000;
const MAX_ERROR_VALUES = 1_000;

/** Ops, or why they cannot be read. */
export type ReadOps = { readonly ops: readonly Op[] } | { readonly problem: string };

/** A report of any size: at once where that takes no time, else in turns. Never throws. */
export function reportOf(response: SdkResponse, nowMs: () => number): PassReport | Promise<PassReport> {
  if (response.body.byteLength <= SMALL_BYTES) return readReport(response, nowMs(), parseJsonBytes);
  return largeBody(response).then(
    (value) => readReport(response, nowMs(), () => value),
    (error: unknown) =>
      readReport(response, nowMs(), () => {
        throw error;
      }),
  );
}

/** The same of the ops of a checkpoint. */
export function checkpointOps(bytes: Uint8Array): ReadOps | Promise<ReadOps> {
  const what = "The checkpoint";
  const problem = (error: unknown): ReadOps => ({ problem: messageOf(error) });
  if (bytes.byteLength > SMALL_BYTES) {
    return largeOps(bytes, what)
      .then((value) => ({ ops: parseOps(value, what) }))
      .catch(problem);
  }
  try {
    return { ops: parseOps(parseJsonBytes(bytes, what), what) };
  } catch (error) {
    return problem(error);
  }
}

function largeBody({ status, noRetry, body }: SdkResponse): Promise<unknown> {
  if (status === "NOT_COMPLETED") return largeOps(body, "The reply's body");
  const where = { what: "The reply's body", levels: 0, maxDepth: WIRE_LIMITS.maxJsonDepth };
  const isError = status === "ERROR" || noRetry;
  return readLargeJson(body, isError ? where : { ...where, textOf: "" }).then(({ value }) =>
    isError ? shortError(value) : value,
  );
}

async function largeOps(bytes: Uint8Array, what: string): Promise<unknown> {
  const where = { what, levels: 2, maxDepth: WIRE_LIMITS.maxJsonDepth, textOf: "data" };
  const { value } = await readLargeJson(bytes, where);
  return settledOps(value, what);
}

/**
 * Ops that were read in turns, with everything but results and the data of invocations built.
 * @throws HoldfastError `FRAME_INVALID`
 */
export async function settledOps(ops: unknown, what: string): Promise<unknown> {
  if (!Array.isArray(ops)) return ops;
  const settled: unknown[] = [];
  for (const [index, op] of ops.entries()) {
    settled.push(isRecord(op) ? await settledOp(op, `${what}[${index}]`) : op);
  }
  return settled;
}

async function settledOp(op: Record<string, unknown>, what: string): Promise<unknown> {
  const { op: kind, opts, error } = op;
  if (!(opts instanceof JsonText || error instanceof JsonText)) return op;
  return {
    ...op,
    ...(opts instanceof JsonText ? { opts: await options(opts, what, kind === "DeferAdd") } : {}),
    ...(error instanceof JsonText ? { error: shortError(error) } : {}),
  };
}

/** @param hasInput it has data as its `input`; of other steps that is the arguments of a body, which nothing here reads */
async function options(
  { members, values }: JsonText,
  what: string,
  hasInput: boolean,
): Promise<Record<string, unknown>> {
  if (!members) throw tooMany(`${what}.opts`, values);
  const built: Record<string, unknown> = {};
  let left = MAX_OPTION_VALUES;
  for (const { key, text, values: count } of members) {
    const name = JSON.parse(key) as string;
    if (name === "payload") built.payload = await payload(text);
    else if (name !== "input" || hasInput) {
      left -= count;
      if (left < 0) throw tooMany(`${what}.opts.${name}`, count);
      if (name !== "__proto__") built[name] = JSON.parse(text);
    }
  }
  return built;
}

/** What a step invokes a function with. */
async function payload(text: string): Promise<unknown> {
  const reader = new LargeJsonReader(text, { what: "The payload", levels: 1, maxDepth: WIRE_LIMITS.maxJsonDepth });
  while (!reader.scan(CHARS_A_TURN)) await nextTurn();
  return reader.value;
}

/** Errors are for people: of one that holds thousands of values they stay away. */
function shortError(value: unknown): unknown {
  if (!(value instanceof JsonText)) return value;
  const fields = (value.members ?? []).filter(({ values }) => values <= MAX_ERROR_VALUES).slice(0, MAX_ERROR_VALUES);
  return Object.fromEntries(fields.map(({ key, text }) => [JSON.parse(key) as string, JSON.parse(text) as unknown]));
}

function tooMany(what: string, values: number): HoldfastError {
  const fix = "pass it as one text, or the name of the place where it is kept";
  return new HoldfastError(
    "FRAME_INVALID",
    `${what} holds ${values} values; options of a step may hold ${MAX_OPTION_VALUES}: ${fix}.`,
  );
}
