/** Runs as a gateway's API shows them to those who sent the events. Tried again like events that are sent. */
import { describeValue, HoldfastError } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { checkKnown } from "../options.ts";
import { apiBase, type GatewayAccess } from "./gateway-access.ts";
import {
  callFailed,
  callSigned,
  type Judgement,
  jsonRecord,
  jsonText,
  refused,
  type SendPorts,
  type SendRequest,
} from "./send-http.ts";

export type RunStatus = "PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED";

/** Why a run that has not ended is where it is; docs/waiting.md has an example of each reason. */
export interface RunWaiting {
  readonly reason: WaitingReason;
  /** A sentence, such as `No connected worker of the app "shop" serves the queue "gpu".` */
  readonly message: string;
  /** When it is over by itself, as far as that is known. */
  readonly untilMs: number | null;
  readonly untilAt: string | null;
  /** The step that it is about, as the code names it. */
  readonly step: string | null;
  /** Another run that it is about: the one that has the place, or that was invoked. */
  readonly runId: string | null;
  /** The worker that has it. */
  readonly instanceId: string | null;
}

export type WaitingReason =
  | "AT_WORK"
  | "SENT"
  | "WORKER_DISCONNECTED"
  | "LEASE_SILENT"
  | "STARTING"
  | "FUNCTION_PAUSED"
  | "NO_WORKER"
  | "NO_WORKER_IN_QUEUE"
  | "VERSION"
  | "LIMITS"
  | "THROTTLED"
  | "NO_ROOM"
  | "BACKLOG"
  | "GATEWAY_DRAINING"
  | "RETRY"
  | "NOT_DUE"
  | "FETCHING"
  | "SLEEPING"
  | "EVENT"
  | "SIGNAL"
  | "CHILD_RUN";

/** A run as it is now. Times are milliseconds since 1970. */
export interface Run {
  readonly id: string;
  /** `<app>-<function>`. */
  readonly functionId: string;
  readonly appId: string;
  readonly environment: string;
  readonly appVersion: string;
  readonly status: RunStatus;
  readonly eventId: string;
  readonly eventName: string;
  /** What the function returned; null before that. */
  readonly output: unknown;
  /** What it failed with: `{ name, message, stack }`; null when it has not failed. */
  readonly error: unknown;
  /** ISO 8601, as those that follow. */
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly createdMs: number;
  readonly startedMs: number | null;
  readonly endedMs: number | null;
  /** The run as which it went on (`continueAs`): then its end was not the end. Only of a run that is asked for by its id. */
  readonly continuedAs?: string | null;
  readonly continuedFrom?: string | null;
  /** Why it has not ended; null when it has. Only of a run that is asked for by its id. */
  readonly waiting?: RunWaiting | null;
}

export interface RunFilter {
  /**
   * The id of an event: the runs that it started.
   * @example eventId: ids[0]
   */
  readonly eventId?: string;
  /**
   * `<app>-<function>`, or the function's own id where only one app has it.
   * @example functionId: "shop-order"
   */
  readonly functionId?: string;
  /**
   * Of one of these.
   * @example status: "FAILED"
   */
  readonly status?: RunStatus | readonly RunStatus[];
  /**
   * The name of the event that started them.
   * @example eventName: "shop/order.placed"
   */
  readonly eventName?: string;
  /**
   * The id that the sender gave to the event or the invocation, as long as that id counts.
   * @example key: "order-4711"
   */
  readonly key?: string;
  /**
   * Failed and cancelled runs with this text in the error; case is ignored.
   * @example error: "card declined"
   */
  readonly error?: string;
  /**
   * Created at this time or later: ISO 8601, or milliseconds since 1970.
   * @example after: "2027-01-31T00:00:00Z"
   */
  readonly after?: string | number;
  /**
   * Created before this time: ISO 8601, or milliseconds since 1970.
   * @example before: Date.now()
   */
  readonly before?: string | number;
  /**
   * 1 to 1000. Default 50.
   * @example limit: 200
   */
  readonly limit?: number;
  /**
   * The `nextCursor` of the page before.
   * @example cursor: page.nextCursor
   */
  readonly cursor?: string;
}

export interface RunPage {
  /** Newest first. */
  readonly runs: readonly Run[];
  /** Absent: these are the last. */
  readonly nextCursor?: string;
}

/** How long to wait for the end of a run. */
export interface FetchWait {
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

/** What a gateway may take to answer beyond the time that it waits. */
const ANSWER_MS = 10_000;

/** @throws HoldfastError `RUNS_UNAVAILABLE` */
export async function fetchRun(options: GatewayAccess, runId: string, ports: SendPorts): Promise<Run | undefined> {
  const run = await lookUpRun(options, runId, ports);
  return typeof run === "string" ? undefined : run;
}

/**
 * `GONE`: a gateway says that there is no such run. `NOWHERE`: something answers 404, such as a proxy in front of none.
 * @throws HoldfastError `RUNS_UNAVAILABLE`
 */
export async function lookUpRun(
  options: GatewayAccess,
  runId: string,
  ports: SendPorts,
  wait?: FetchWait,
): Promise<Run | "GONE" | "NOWHERE"> {
  const path = runPath(runId, wait && `?wait=${wait.waitMs}`);
  // What waits asks again by itself, and is to hear of each call that failed.
  const waiting = wait && { tries: 1, tryTimeoutMs: wait.waitMs + ANSWER_MS, signal: wait.signal };
  const call = { path, ...waiting };
  return get<Run | "GONE" | "NOWHERE">(options, call, ports, (status, body) => {
    if (status === 404) return body.code === "NOT_FOUND" ? "GONE" : "NOWHERE";
    return isRun(body) ? body : undefined;
  });
}

const runPath = (runId: string, rest = ""): string => `v1/runs/${encodeURIComponent(runId)}${rest}`;

/**
 * False when it had ended already.
 * @throws HoldfastError `RUNS_UNAVAILABLE`
 */
export function cancelRun(options: GatewayAccess, runId: string, ports: SendPorts): Promise<boolean> {
  return get(options, { path: runPath(runId, "/cancel"), body: "" }, ports, flag("cancelled"));
}

/** What is done with a run after its end; the answer names the run that goes on. Called again it does the same. */
export async function repairRun(
  options: GatewayAccess,
  { runId, verb, body }: { readonly runId: string; readonly verb: "rerun" | "fork" | "resume"; readonly body: object },
  ports: SendPorts,
): Promise<string> {
  const call = { path: runPath(runId, `/${verb}`), body: jsonText(body, `The body of ${verb}()`) };
  return get(options, call, ports, (_status, made) => (typeof made.runId === "string" ? made.runId : undefined));
}

/** Keeps a run whatever its age. */
export async function holdRun(options: GatewayAccess, runId: string, reason: string, ports: SendPorts): Promise<void> {
  const call = { path: runPath(runId, "/hold"), method: "PUT", body: JSON.stringify({ reason }) } as const;
  await get(options, call, ports, (status) => (status < 300 ? true : undefined));
}

/** False: it was not on hold. */
export function releaseRun(options: GatewayAccess, runId: string, ports: SendPorts): Promise<boolean> {
  return get(options, { path: runPath(runId, "/hold"), method: "DELETE" }, ports, flag("released"));
}

/** False: there was nothing to undo, or it was cancelled: cancelled runs are not undone. */
export function retryCompensations(options: GatewayAccess, runId: string, ports: SendPorts): Promise<boolean> {
  return get(options, { path: runPath(runId, "/compensations/retry"), body: "" }, ports, flag("retried"));
}

/** False: there is no such run (any more). */
export function deleteRun(
  options: GatewayAccess,
  runId: string,
  { cancel }: { readonly cancel: boolean },
  ports: SendPorts,
): Promise<boolean> {
  const path = runPath(runId, cancel ? "?cancel=1" : "");
  return get(options, { path, method: "DELETE" }, ports, (status) => status !== 404);
}

type Read<T> = (status: number, body: Readonly<Record<string, unknown>>) => T | undefined;

/** Whether the call has changed anything, as its answer says. */
const flag =
  (name: string): Read<boolean> =>
  (_status, { [name]: value }) =>
    typeof value === "boolean" ? value : undefined;

const FILTERS = ["eventId", "functionId", "status", "eventName", "key", "error", "after", "before", "limit", "cursor"];
const MAX_LIMIT = 1_000;

/** @throws HoldfastError `OPTION_INVALID` */
export function checkFilter(what: string, filter: unknown): void {
  if (!isRecord(filter)) throw new HoldfastError("OPTION_INVALID", `The options of ${what} must be an object.`);
  checkKnown(what, filter, FILTERS);
  const { limit } = filter;
  const isNumber = typeof limit === "number" && Number.isInteger(limit);
  if (limit === undefined || (isNumber && limit >= 1 && limit <= MAX_LIMIT)) return;
  const given = describeValue(limit);
  throw new HoldfastError("OPTION_INVALID", `The option \`limit\` of ${what} must be 1 to ${MAX_LIMIT}, not ${given}.`);
}

/**
 * Pages that a gateway may cut.
 * @throws HoldfastError `RUNS_UNAVAILABLE`, or the gateway's code of what it refuses
 */
export async function fetchRuns(options: GatewayAccess, filter: RunFilter, ports: SendPorts): Promise<RunPage> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) if (value !== undefined) query.set(name, String(value));
  return get(options, { path: `v1/runs?${query}` }, ports, (_status, { runs, nextCursor }) => {
    if (!Array.isArray(runs) || !runs.every(isRun)) return undefined;
    return typeof nextCursor === "string" ? { runs, nextCursor } : { runs };
  });
}

/** `read`: undefined when the body is not what such a call answers. It sees answers that are good, and 404. */
async function get<T>(
  options: GatewayAccess,
  { path, ...request }: { readonly path: string } & Omit<SendRequest, "url" | "headers">,
  ports: SendPorts,
  read: Read<T>,
): Promise<T> {
  const url = new URL(path, apiBase(options)).href;
  const judge = (status: number, text: string): Judgement<T> => {
    const body = jsonRecord(text);
    const value = (status >= 200 && status < 300) || status === 404 ? read(status, body) : undefined;
    return value === undefined ? refused(status, text, body) : { ok: true, value };
  };
  const answer = await callSigned(options, { ...request, url, headers: {} }, ports, judge);
  if (answer.ok) return answer.value;
  const { pathname } = new URL(url);
  const did = answer.reason.startsWith("4") ? `refused ${pathname}` : `did not answer ${pathname} as expected`;
  throw callFailed(answer.code ?? "RUNS_UNAVAILABLE", url, did, answer);
}

export const isRun = (value: unknown): value is Run =>
  isRecord(value) && typeof value.id === "string" && typeof value.status === "string";
