/** The messages of a gateway's live stream, over all connections that it takes. */
import {
  backoffDelayMs,
  HoldfastError,
  messageOf,
  ServerSentReader,
  sleep,
  systemRandom,
  systemTimers,
} from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { type GatewayClient, isPassing } from "./gateway-client.ts";

/** Gateways send something every 15 s. */
const SILENT_MS = 45_000;
const RETRY = { baseMs: 100, factor: 2, maxMs: 2_000, jitter: 0.3 } as const;

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
  let hasBegun = false;
  for (let failures = 0; !signal.aborted; failures += 1) {
    if (failures > 0) await sleep(systemTimers, backoffDelayMs(RETRY, failures, systemRandom), signal);
    if (signal.aborted) return;
    try {
      for await (const message of oneConnection(client, path, reader, signal)) {
        if (failures > 0 && hasBegun) onBack();
        failures = 0;
        hasBegun = true;
        if (message) yield message;
      }
      if (!signal.aborted && failures === 0) onGone("it has closed the stream");
    } catch (error) {
      if (signal.aborted) return;
      const isLost = HoldfastError.is(error) && error.code === "POSITION_INVALID";
      if (isLost) reader.lastId = null;
      const isStarting = HoldfastError.is(error) && error.code === "GATEWAY_STARTING";
      if (!isLost && !isStarting && !(hasBegun && isPassing(error))) throw error;
      if (failures === 0 && hasBegun) onGone(messageOf(error));
    }
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
    yield null;
    const reader = new ServerSentReader();
    const decoder = new TextDecoder();
    pieces = response.body.getReader();
    while (!end.signal.aborted) {
      const piece = await pieces.read().catch(() => null);
      if (!piece || piece.done) return;
      timer.cancel();
      timer = systemTimers.set(SILENT_MS, abort);
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
