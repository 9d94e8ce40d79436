/**
 * Reads a request's payload into the input of a pass, checks it, and fetches the state that was too large to be sent
 * along.
 */
import { HoldfastError } from "@holdfast/core";
import { type EventPayload, type ExtendedContext, isRecord, parseJsonBytes } from "@holdfast/protocol";

/** A request's payload, checked and with defaults filled in. */
export interface PassInput {
  readonly requestVersion: number;
  readonly event: EventPayload;
  readonly events: readonly EventPayload[];
  readonly steps: Readonly<Record<string, unknown>>;
  readonly stack: readonly string[];
  readonly attempt: number;
  /** Undefined: failures are always worth another try. */
  readonly maxAttempts?: number;
  readonly planOnly: boolean;
  /** Present when the gateway speaks our extensions. */
  readonly extended?: ExtendedContext;
}

/** The version of the ops we answer with when the run has none yet. */
const OWN_VERSION = 2;

/** Fetches what a request leaves out that would be too large. */
export type FetchState = () => Promise<{
  readonly steps: Readonly<Record<string, unknown>>;
  readonly events: readonly unknown[];
}>;

/** The JSON of a payload; why there is none. */
export type ParsedPayload = { readonly root: Record<string, unknown> } | { readonly error: HoldfastError };

/** Apart from reading it, so that the bytes need not be kept as long as the pass goes on. */
export function parsePayload(payload: Uint8Array): ParsedPayload {
  let root: unknown;
  try {
    root = parseJsonBytes(payload, "The request's payload");
  } catch (cause) {
    const message = "The request's payload is not JSON, or nests too deeply.";
    return { error: new HoldfastError("REQUEST_INVALID", message, { cause }) };
  }
  return isRecord(root) ? { root } : { error: invalid("it is not an object") };
}

/**
 * Reads a request's payload; a promise only when the rest of it must be fetched.
 * @throws HoldfastError `REQUEST_INVALID`, and what `fetchState` rejects with
 */
export function readPassInput(payload: ParsedPayload, fetchState: FetchState): PassInput | Promise<PassInput> {
  if ("error" in payload) throw payload.error;
  const { root } = payload;
  const ctx = optionalRecord(root.ctx, "ctx") ?? {};
  if (ctx.use_api !== true) return passInput(root, ctx);
  return fetchState().then(({ steps, events }) => {
    const input = passInput({ ...root, steps, events }, ctx);
    return input.extended === undefined ? input : { ...input, stack: stackOfAll(input) };
  });
}

/** What has ended since the request was made comes last: our gateways give steps in their order. */
function stackOfAll({ stack, steps }: PassInput): readonly string[] {
  const known = new Set(stack);
  return [...stack, ...Object.keys(steps).filter((hash) => !known.has(hash))];
}

function passInput(root: Record<string, unknown>, ctx: Record<string, unknown>): PassInput {
  const event = readEvent(root.event, "event");
  const events = root.events === undefined || root.events === null ? [] : root.events;
  if (!Array.isArray(events)) throw invalid("`events` is not an array");
  const maxAttempts = optionalCount(ctx.max_attempts, "ctx.max_attempts");
  const extended = optionalRecord(ctx.holdfast, "ctx.holdfast");
  return {
    requestVersion: readVersion(root.version),
    event,
    events: events.length === 0 ? [event] : events.map((entry, index) => readEvent(entry, `events[${index}]`)),
    steps: optionalRecord(root.steps, "steps") ?? {},
    stack: readStack(ctx.stack),
    attempt: optionalCount(ctx.attempt, "ctx.attempt") ?? 0,
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    planOnly: ctx.disable_immediate_execution === true,
    ...(extended === undefined ? {} : { extended: readExtended(extended) }),
  };
}

function readVersion(version: unknown): number {
  if (version === undefined || version === null || version === -1 || version === 0) return OWN_VERSION;
  if (version === 1 || version === 2) return version;
  throw invalid(`its version is ${JSON.stringify(version)}, and only 1 and 2 are supported`);
}

function readEvent(value: unknown, name: string): EventPayload {
  if (!isRecord(value)) throw invalid(`\`${name}\` is not an object`);
  if (typeof value.name !== "string") throw invalid(`\`${name}.name\` is not a string`);
  if (isWhole(value)) return value;
  return {
    ...value,
    name: value.name,
    id: typeof value.id === "string" ? value.id : "",
    data: value.data ?? {},
    ts: typeof value.ts === "number" ? value.ts : 0,
  };
}

/** As our gateways send them: then it is not copied. */
function isWhole(event: Record<string, unknown>): event is Record<string, unknown> & EventPayload {
  const { id, data, ts } = event;
  return typeof id === "string" && typeof ts === "number" && data !== undefined && data !== null;
}

function readStack(value: unknown): readonly string[] {
  const list = isRecord(value) ? value.stack : undefined;
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw invalid("`ctx.stack.stack` is not an array");
  return list.filter((entry): entry is string => typeof entry === "string");
}

function readExtended(value: Record<string, unknown>): ExtendedContext {
  const { undefinedSteps, deadlineMs, appVersion, nowMs, losses, retry } = value;
  return {
    v: 1,
    retries: (optionalRecord(value.retries, "ctx.holdfast.retries") ?? {}) as ExtendedContext["retries"],
    ...(Array.isArray(undefinedSteps) ? { undefinedSteps: undefinedSteps.filter(isText) } : {}),
    signatures: (optionalRecord(value.signatures, "ctx.holdfast.signatures") ?? {}) as Record<string, string>,
    ...(typeof deadlineMs === "number" ? { deadlineMs } : {}),
    ...(typeof appVersion === "string" && appVersion !== "" ? { appVersion } : {}),
    ...(typeof nowMs === "number" ? { nowMs } : {}),
    ...(typeof losses === "number" ? { losses } : {}),
    ...(isSpacing(retry) ? { retry } : {}),
  };
}

function isSpacing(value: unknown): value is NonNullable<ExtendedContext["retry"]> {
  return isRecord(value) && [value.baseMs, value.factor, value.maxMs].every((one) => typeof one === "number");
}

const isText = (value: unknown): value is string => typeof value === "string";

function optionalRecord(value: unknown, name: string): Record<string, unknown> | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isRecord(value)) throw invalid(`\`${name}\` is not an object`);
  return value;
}

function optionalCount(value: unknown, name: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
    throw invalid(`\`${name}\` is not an integer ≥ 0`);
  }
  return value;
}

function invalid(problem: string): HoldfastError {
  return new HoldfastError("REQUEST_INVALID", `The request's payload cannot be used: ${problem}.`);
}
