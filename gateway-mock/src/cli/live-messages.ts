/** The messages of a gateway's live stream, over all connections that it takes. */
import {
  backoffDelayMs,
  HoldfastError,
  messageOf,
  ServerSentReader,
  sleep,
  systemRandom,
  systemTimers,
  type TimerHandle,
} from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { type GatewayClient, isPassing } from "./gateway-client.ts";

/** Gateways send something every 15 s. */
const SILENT_MS = 45_000;
const RETRY = { baseMs: 100, factor: 2, maxMs: 2_000, jitter: 0.3 } as const;
/** A stream that breaks off sooner, with nothing on it, is no sign of a gateway that is back. */
const STEADY_MS = 1_000;

export interface LiveMessage {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface LiveOptions {
  readonly signal: AbortSignal;
  /** The connection broke, or is there again. */
  readonly onGone: (why: string) => void;
  readonly onBack: () => void;
}

/**
 * Ends when the signal fires. It waits for a gateway that is starting and, once it has begun, for one that is gone.
 * @throws HoldfastError what the gateway says against it, and `GATEWAY_UNREACHABLE` where there is none at first
 */
export async function* liveMessages(
  client: Pick<GatewayClient, "url" | "headers">,
  path: string,
  { signal, onGone, onBack }: LiveOptions,
): AsyncGenerator<LiveMessage, void> {
  const reader = { lastId: null as string | null };
  const link = new LinkNotices(onGone, onBack);
  for (let failures = 0; !signal.aborted; failures += 1) {
    if (failures > 0) await sleep(systemTimers, backoffDelayMs(RETRY, failures, systemRandom), signal);
    if (signal.aborted) return;
    const recordSteady = (): void => {
      failures = 0;
      link.recordSteady();
    };
    let steady: TimerHandle | null = null;
    try {
      for await (const message of oneConnection(client, path, reader, signal)) {
        link.hasBegun = true;
        steady ??= systemTimers.set(STEADY_MS, recordSteady);
        if (!message) continue;
        recordSteady();
        yield message;
      }
      if (!signal.aborted) link.recordLoss("it has closed the stream");
    } catch (error) {
      if (signal.aborted) return;
      const isLost = HoldfastError.is(error) && error.code === "POSITION_INVALID";
      if (isLost) reader.lastId = null;
      const isStarting = HoldfastError.is(error) && error.code === "GATEWAY_STARTING";
      if (!isLost && !isStarting && !(link.hasBegun && isPassing(error))) throw error;
      if (link.hasBegun) link.recordLoss(messageOf(error));
    } finally {
      steady?.cancel();
    }
  }
}

/** Says once that the gateway is gone, and once that it is back, however often it is tried in between. */
class LinkNotices {
  readonly #onGone: (why: string) => void;
  readonly #onBack: () => void;
  #isGone = false;
  /** A stream was open once. */
  hasBegun = false;

  constructor(onGone: (why: string) => void, onBack: () => void) {
    this.#onGone = onGone;
    this.#onBack = onBack;
  }

  recordLoss(why: string): void {
    if (!this.#isGone) this.#onGone(why);
    this.#isGone = true;
  }

  recordSteady(): void {
    if (this.#isGone) this.#onBack();
    this.#isGone = false;
  }
}

/** Null: it is there. */
async function* oneConnection(
  client: Pick<GatewayClient, "url" | "headers">,
  path: string,
  place: { lastId: string | null },
  signal: AbortSignal,
): AsyncGenerator<LiveMessage | null, void> {
  const headers = await client.headers();
  const end = new AbortController();
  let pieces: ReadableStreamDefaultReader<Uint8Array> | null = null;
  // Node 20 loses the signal of a call whose body is being read, now and then: the reader is told as well.
  const abort = (): void => {
    end.abort();
    void pieces?.cancel().catch(() => {});
  };
  signal.addEventListener("abort", abort, { once: true });
  let timer = systemTimers.set(SILENT_MS, abort);
  try {
    const response = await fetch(`${client.url}${path}`, {
      headers: { ...headers, ...(place.lastId === null ? {} : { "Last-Event-ID": place.lastId }) },
      redirect: "error",
      signal: end.signal,
    }).catch((cause: unknown) => {
      throw new HoldfastError("GATEWAY_UNREACHABLE", `No gateway answers at ${client.url}.`, { cause });
    });
    if (response.status !== 200 || !response.body) throw await refusalOf(response);
    if (!/^text\/event-stream\b/.test(response.headers.get("content-type") ?? "")) {
      await response.body.cancel().catch(() => {});
      const what = `its answer to ${path.replace(/\?.*/, "")} is no stream of events`;
      throw new HoldfastError(
        "GATEWAY_UNREACHABLE",
        `What answers at ${client.url} is not a Holdfast gateway: ${what}.`,
      );
    }
    yield null;
    const reader = new ServerSentReader();
    const decoder = new TextDecoder();
    pieces = response.body.getReader();
    while (!end.signal.aborted) {
      timer.cancel();
      timer = systemTimers.set(SILENT_MS, abort);
      const piece = await pieces.read().catch(() => null);
      if (!piece || piece.done) return;
      // The gateway is not silent while who looks at a message takes long.
      timer.cancel();
      for (const { event, data } of reader.read(decoder.decode(piece.value, { stream: true }))) {
        if (end.signal.aborted) return;
        yield { event, data: jsonRecord(data) };
        place.lastId = reader.lastId ?? place.lastId;
      }
      place.lastId = reader.lastId ?? place.lastId;
    }
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", abort);
    abort();
  }
}

async function refusalOf(response: Response): Promise<HoldfastError> {
  const { error, code } = jsonRecord(await response.text());
  const message = typeof error === "string" ? error : `The gateway answered ${response.status}.`;
  if (code === "POSITION_INVALID" || code === "NOT_FOUND" || code === "BODY_INVALID" || code === "STORE_FAILED") {
    return new HoldfastError(code, message);
  }
  if (code === "OPTION_INVALID" || code === "UNAUTHORIZED" || code === "GATEWAY_STARTING") {
    return new HoldfastError(code, message);
  }
  return new HoldfastError(response.status >= 500 ? "GATEWAY_UNREACHABLE" : "BODY_INVALID", message);
}

function jsonRecord(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}
