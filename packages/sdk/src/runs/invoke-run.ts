/** Starts a run of one function at the gateway: reads the options, makes the request, says what came of it. */
import { HoldfastError, unstorableIn } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import type { UntypedData } from "../events/event-types.ts";
import { apiBase, type GatewayAccess } from "../events/gateway-access.ts";
import { checkDepth, jsonProblem } from "../events/json-depth.ts";
import { checkData, checkSize, seedHeader } from "../events/send-events.ts";
import {
  callFailed,
  callSigned,
  type Judgement,
  jsonRecord,
  patienceOf,
  refusalCode,
  refused,
  type SendPorts,
  saidOf,
  withStatus,
} from "../events/send-http.ts";
import { checkKnown } from "../options.ts";
import { type DurationLike, durationMsOf, type InstantLike, instantOf } from "../steps/points-in-time.ts";
import type { DataOf } from "../steps/references.ts";
import { traceFields } from "../telemetry/tracing.ts";
import { functionNameOf } from "./function-name.ts";
import { type HeldBackBy, RunNotStartedError } from "./run-errors.ts";

/** How a run is started from outside. */
export interface InvocationOptions<Data = unknown> {
  /**
   * The `data` of its event; a JSON object.
   * @example data: { item: 7 }
   */
  readonly data?: Data;
  /**
   * A second call with the same id within 30 days refers to the same run of the function. Default: a run for each call.
   * @example id: "order-7"
   */
  readonly id?: string;
  /**
   * The earliest time at which it starts.
   * @example at: new Date("2027-01-31T09:00:00Z")
   */
  readonly at?: InstantLike;
  /**
   * A run that has not ended by then fails with a `RunDeadlineError`, after its steps are undone; it replaces the
   * function's own `deadline`. A duration counts from `at`, or from when the run is stored, by the database's clock.
   * @example deadline: "90s"
   */
  readonly deadline?: InstantLike | DurationLike;
  /**
   * Starts with this version of the app instead of the newest one that is connected.
   * @example appVersion: "2.0"
   */
  readonly appVersion?: string;
  /**
   * How many seconds it is put ahead of other runs of the function, -600 to 600; replaces the function's own
   * `priority`.
   * @example priority: 120
   */
  readonly priority?: number;
}

/** Options are needed where data is. */
export type InvocationArgs<Target> =
  UntypedData extends DataOf<Target>
    ? [options?: InvocationOptions<DataOf<Target>>]
    : [options: InvocationOptions<DataOf<Target>> & { readonly data: DataOf<Target> }];

const OPTIONS = ["data", "id", "at", "deadline", "appVersion", "priority"];
const MAX_PRIORITY = 600;
const MAX_ID_LENGTH = 256;

export interface StartedRun {
  readonly runId: string;
  readonly functionId: string;
  readonly eventId: string;
  /** False: a run was there already for this id. */
  readonly isNew: boolean;
}

/**
 * Network errors, 5xx and 429 are tried again (5 tries at least, and for 10 s, in dev mode 5 tries) with the same seed,
 * by which the gateway knows a repeated request.
 * @throws HoldfastError `OPTION_INVALID`, `EVENT_INVALID`, `RUN_START_FAILED`; the gateway's code of what it refuses
 * @throws RunNotStartedError `RUN_SKIPPED`, `RUN_POSTPONED`
 */
export async function invokeRun(
  access: GatewayAccess & { readonly id: string },
  target: unknown,
  given: unknown,
  ports: SendPorts,
): Promise<StartedRun> {
  const name = functionNameOf(target, access.id, "invoke()");
  const body = bodyOf(given);
  const url = new URL(`v1/functions/${encodeURIComponent(name)}/runs`, apiBase(access)).href;
  const headers = { "Content-Type": "application/json", "x-inngest-event-id-seed": seedHeader(ports) };
  const answer = await callSigned(access, { url, headers, body, patienceMs: patienceOf(access) }, ports, judge);
  if (answer.ok) return startedRun(answer.value);
  throw callFailed(answer.code ?? "RUN_START_FAILED", url, `did not start a run of "${name}"`, answer);
}

function bodyOf(given: unknown): string {
  if (given !== undefined && !isRecord(given)) throw refusal("The options of invoke() must be an object.");
  const options = { ...given };
  checkKnown("invoke()", options, OPTIONS);
  const { data, id, at, deadline, appVersion, priority } = options;
  if (data !== undefined && data !== null && !isRecord(data)) {
    throw new HoldfastError("EVENT_INVALID", "The `data` of invoke() must be an object.");
  }
  const isName = typeof id === "string" && id !== "" && id.length <= MAX_ID_LENGTH && unstorableIn(id) === null;
  if (id !== undefined && !isName) {
    throw invalid("id", `text of 1 to ${MAX_ID_LENGTH} characters, without NUL or half surrogate pairs`);
  }
  if (appVersion !== undefined && typeof appVersion !== "string") {
    throw invalid("appVersion", "text");
  }
  const isPriority = Number.isInteger(priority) && Math.abs(priority as number) <= MAX_PRIORITY;
  if (priority !== undefined && !isPriority) {
    throw invalid("priority", `a whole number, -${MAX_PRIORITY} to ${MAX_PRIORITY}`);
  }
  const start = at === undefined ? undefined : instant(at, "at");
  const fields = { data: data ?? {}, id, at: start, deadline: end(deadline), appVersion, priority };
  return encode({ ...fields, ...traceFields() });
}

function instant(value: unknown, name: string): string {
  const text = instantOf(value);
  if (text !== undefined) return text;
  throw invalid(name, "a Date, ISO 8601 text, or a point in time of Temporal");
}

/** A duration goes as it is: what it counts from is the database's time, which this process does not know. */
function end(deadline: unknown): string | undefined {
  if (deadline === undefined) return undefined;
  return instantOf(deadline) ?? `${durationMsOf(deadline, "deadline")}ms`;
}

/** For messages. */
const DATA = "The data of invoke()";

function encode(body: { readonly data: unknown }): string {
  let text: string;
  try {
    text = JSON.stringify(body);
  } catch (cause) {
    throw new HoldfastError("EVENT_INVALID", `${DATA} is not JSON: ${jsonProblem(body.data, cause)}`, { cause });
  }
  // The body is a level itself. What nests deeper is not looked through.
  checkDepth(text, body.data, DATA, "EVENT_INVALID");
  checkData(body.data, DATA);
  checkSize(text, DATA);
  return text;
}

const refusal = (message: string): HoldfastError => new HoldfastError("OPTION_INVALID", message);

const invalid = (option: string, wanted: string): HoldfastError =>
  refusal(`The option \`${option}\` of invoke() must be ${wanted}.`);

type Answered = Readonly<Record<string, unknown>> | HoldfastError;

function judge(status: number, text: string): Judgement<Answered> {
  const body = jsonRecord(text);
  if (status >= 200 && status < 300 && typeof body.outcome === "string") return { ok: true, value: body };
  const { code } = refusalCode(status, body);
  if (code === undefined) return refused(status, text, body);
  return { ok: true, value: withStatus(new HoldfastError(code, saidOf(body, text)), status) };
}

function startedRun(answer: Answered): StartedRun {
  if (answer instanceof HoldfastError) throw answer;
  const text = (name: string): string => String(answer[name] ?? "");
  const functionId = text("functionId");
  const reason = text("reason") as HeldBackBy;
  switch (answer.outcome) {
    case "started":
      return { runId: text("runId"), functionId, eventId: text("eventId"), isNew: answer.isNew === true };
    case "skipped": {
      const runId = typeof answer.runId === "string" ? { runId: answer.runId } : {};
      throw new RunNotStartedError("RUN_SKIPPED", { functionId, reason, ...runId });
    }
    default:
      throw new RunNotStartedError("RUN_POSTPONED", { functionId, reason, eventId: text("eventId") });
  }
}
