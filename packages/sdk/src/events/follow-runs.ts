/**
 * Follows runs live: reads the gateway's stream, and goes on where it broke off, at whatever gateway answers then.
 * Nothing is missing and nothing comes twice.
 */
import {
  backoffDelayMs,
  type ErrorCode,
  type HoldfastError,
  messageOf,
  type ServerSentEvent,
  ServerSentReader,
  sleep,
  type TimerHandle,
  whenAborted,
} from "@holdfast/core";
import { apiBase, type GatewayAccess } from "./gateway-access.ts";
import { type RunEvent, readContinued, readFacts, readSnapshot } from "./run-events.ts";
import type { RunStatus } from "./runs.ts";
import {
  callFailed,
  isWrongKey,
  jsonRecord,
  KEYS_REFUSED,
  mayPass,
  RETRY,
  refusalCode,
  type SendPorts,
  withKeys,
} from "./send-http.ts";

/** Which runs to follow: one, or all of a function, or all. */
export type FollowTarget = { readonly runId: string } | FollowFilter;

export interface FollowFilter {
  /**
   * `<app>-<function>`. Default: every function.
   * @example functionId: "shop-order"
   */
  readonly functionId?: string;
  /**
   * Only what is stored together with a change to one of these statuses; the snapshot has the runs that already have
   * one of them.
   * @example status: ["FAILED", "CANCELLED"]
   */
  readonly status?: RunStatus | readonly RunStatus[];
}

export interface FollowOptions {
  /**
   * Ends it.
   * @example signal: controller.signal
   */
  readonly signal?: AbortSignal;
  /**
   * For one run: `start` = its whole log, without a snapshot. Default `now`: a snapshot, then what follows.
   * @example from: "start"
   */
  readonly from?: "now" | "start";
  /**
   * For one run: `all` (default) = also the runs as which it continues (`continueAs`); `one` = ends with this run.
   * @example links: "one"
   */
  readonly links?: "all" | "one";
}

/** Gateways send something every 15 s. */
const SILENT_MS = 45_000;
/** Before the first answer; once it has begun it does not give up. */
const FIRST_TRIES = 5;
/** Rows of which is remembered that they came. */
const MAX_KNOWN = 1_000;

/**
 * Ends with the run; of many runs it does not end. Aborting `signal` ends it without an error.
 * @throws HoldfastError `NOT_FOUND`, `RUNS_UNAVAILABLE`
 */
export async function* followRuns(
  options: GatewayAccess,
  target: FollowTarget,
  { signal, from = "now", links = "all" }: FollowOptions,
  ports: SendPorts,
): AsyncGenerator<RunEvent, void> {
  const url = new URL(pathOf(target, from, links), apiBase(options)).href;
  const known = new Set<string>();
  const pause = (failures: number): Promise<void> =>
    sleep(ports.timers, backoffDelayMs(RETRY, failures, ports.random), signal);
  let lastId: string | null = null;
  let hasBegun = false;
  for (let failures = 0; !signal?.aborted; ) {
    const stream = await openStream(options, url, { lastId, signal }, ports);
    if (stream.type === "FAILED") {
      failures += 1;
      if (stream.isFinal || (!hasBegun && failures >= FIRST_TRIES)) throw unavailable(url, stream);
      if (stream.isLost) {
        lastId = null;
        yield { kind: "RESET" };
      } else await pause(failures);
      continue;
    }
    hasBegun = true;
    try {
      for await (const message of stream.messages) {
        failures = 0;
        if (message.event === "end") return;
        for (const event of eventsOf(message, known)) yield event;
        lastId = stream.lastId() ?? lastId;
      }
    } finally {
      stream.close();
    }
    lastId = stream.lastId() ?? lastId;
    failures += 1;
    await pause(failures);
  }
}

function pathOf(target: FollowTarget, from: "now" | "start", links: "all" | "one"): string {
  const which = links === "one" ? "&links=one" : "";
  if ("runId" in target) return `v1/runs/${encodeURIComponent(target.runId)}/stream?from=${from}${which}`;
  const { functionId, status = [] } = target;
  const query = new URLSearchParams();
  if (functionId !== undefined) query.set("function", functionId);
  if (status.length > 0) query.set("status", typeof status === "string" ? status : status.join(","));
  return `v1/runs/stream?${query}`;
}

function* eventsOf({ event, data }: ServerSentEvent, known: Set<string>): Generator<RunEvent, void> {
  const body = jsonRecord(data);
  if (event === "reset") yield { kind: "RESET" };
  const continued = event === "continued" ? readContinued(body) : null;
  if (continued) yield continued;
  const snapshot = event === "snapshot" ? readSnapshot(body) : null;
  if (snapshot) yield snapshot;
  const read = event === "facts" ? readFacts(body) : null;
  if (!read || known.has(read.row)) return;
  known.add(read.row);
  for (const oldest of known) {
    if (known.size <= MAX_KNOWN) break;
    known.delete(oldest);
  }
  yield* read.facts;
}

type Opened =
  | {
      readonly type: "OPEN";
      readonly messages: AsyncGenerator<ServerSentEvent, void>;
      readonly lastId: () => string | null;
      readonly close: () => void;
      readonly status?: never;
      readonly code?: never;
    }
  | {
      readonly type: "FAILED";
      readonly reason: string;
      readonly cause?: unknown;
      readonly status?: number;
      /** The gateway's, where it has refused. */
      readonly code?: ErrorCode;
      /** Trying again does not help. */
      readonly isFinal: boolean;
      /** The gateway does not know the place to go on from. */
      readonly isLost: boolean;
    };

interface Asked {
  readonly lastId: string | null;
  readonly signal: AbortSignal | undefined;
}

async function openStream(options: GatewayAccess, url: string, asked: Asked, ports: SendPorts): Promise<Opened> {
  const place = asked.lastId === null ? {} : { "Last-Event-ID": asked.lastId };
  const opened = await withKeys(options, (signed) =>
    openWith(url, { Accept: "text/event-stream", ...signed, ...place }, asked.signal, ports),
  );
  return isWrongKey(opened) ? { type: "FAILED", reason: KEYS_REFUSED, isFinal: true, isLost: false } : opened;
}

async function openWith(
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal | undefined,
  ports: SendPorts,
): Promise<Opened> {
  const end = new AbortController();
  const unfollow = whenAborted(signal, () => end.abort(new Error("it is no longer followed")));
  let timer: TimerHandle | null = null;
  const alive = (): void => {
    timer?.cancel();
    timer = ports.timers.set(SILENT_MS, () => end.abort(new Error(`nothing came for ${SILENT_MS} ms`)));
  };
  const close = (): void => {
    timer?.cancel();
    unfollow();
    end.abort();
  };
  alive();
  try {
    const response = await ports.fetch(url, { method: "GET", headers, signal: end.signal });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    if (response.status === 200 && response.body && isStream) {
      const reader = new ServerSentReader();
      return {
        type: "OPEN",
        messages: messagesOf(response.body, reader, alive, end.signal),
        lastId: () => reader.lastId,
        close,
      };
    }
    const { status } = response;
    const body = jsonRecord(await response.text());
    close();
    const isLost = body.code === "POSITION_INVALID" && "Last-Event-ID" in headers;
    const said = typeof body.error === "string" ? body.error : "its answer is no stream";
    const isFinal = !isLost && !mayPass(status);
    return { type: "FAILED", reason: `${status} ${said}`, status, isFinal, isLost, ...refusalCode(status, body) };
  } catch (cause) {
    close();
    // Of a connection that failed, `fetch` says why in the cause of its error.
    const reason = messageOf((cause instanceof Error && cause.cause) || cause);
    return { type: "FAILED", reason, cause, isFinal: false, isLost: false };
  }
}

/** Ends where the connection does, however it does. */
async function* messagesOf(
  body: ReadableStream<Uint8Array>,
  reader: ServerSentReader,
  alive: () => void,
  end: AbortSignal,
): AsyncGenerator<ServerSentEvent, void> {
  const pieces = body.getReader();
  const decoder = new TextDecoder();
  // Node 20 loses the signal of a call whose body is being read, now and then.
  const unfollow = whenAborted(end, () => void pieces.cancel().catch(() => {}));
  try {
    while (!end.aborted) {
      const piece = await pieces.read().catch(() => null);
      if (!piece || piece.done) return;
      alive();
      yield* reader.read(decoder.decode(piece.value, { stream: true }));
    }
  } finally {
    unfollow();
    await pieces.cancel().catch(() => {});
  }
}

function unavailable(url: string, { code, ...failed }: Extract<Opened, { type: "FAILED" }>): HoldfastError {
  const what = `cannot be followed at ${new URL(url).pathname}`;
  return callFailed(code ?? "RUNS_UNAVAILABLE", url, what, { ...failed, tries: "" });
}
