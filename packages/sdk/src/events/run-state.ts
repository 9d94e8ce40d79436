/** Fetches what a request was too large to carry: the events and finished steps of its run. */
import { HoldfastError } from "@holdfast/core";
import { isRecord, parseJsonBytes, RUNS_PATH } from "@holdfast/protocol";
import { apiBase, type GatewayAccess } from "./gateway-access.ts";
import { callSigned, type Judgement, refused, type SendPorts } from "./send-http.ts";

/** What a request that is too large leaves out. */
export interface FetchedRunState {
  /** By hashed id. */
  readonly steps: Readonly<Record<string, unknown>>;
  readonly events: readonly unknown[];
}

/** A state may have tens of megabytes. */
const TRY_TIMEOUT_MS = 30_000;

/**
 * Fetches the events and the finished steps of a run, as a request asks for with `ctx.use_api`. Tried again like events
 * that are sent, five tries in all; a signing key that is refused is followed by the fallback key.
 * @throws HoldfastError `RUN_STATE_UNAVAILABLE`
 */
export async function fetchRunState(
  options: GatewayAccess,
  runId: string,
  ports: SendPorts,
  signal: AbortSignal,
): Promise<FetchedRunState> {
  const part = async <T>(name: string, read: (value: unknown) => T | undefined): Promise<T> => {
    const url = new URL(`${RUNS_PATH}/${encodeURIComponent(runId)}/${name}`, apiBase(options)).href;
    const request = { url, headers: {}, tryTimeoutMs: TRY_TIMEOUT_MS, signal };
    const answer = await callSigned(options, request, ports, (status, text) => judge(status, text, read));
    if (answer.ok) return answer.value;
    throw new HoldfastError(
      "RUN_STATE_UNAVAILABLE",
      `Run ${runId} is too large for one request, and its steps could not be fetched from ${url}${answer.tries}: ${answer.reason}`,
      { cause: answer.cause },
    );
  };
  const [steps, events] = await Promise.all([
    part("actions", (value) => (isRecord(value) ? value : undefined)),
    part("batch", (value) => (Array.isArray(value) && value.length > 0 ? (value as readonly unknown[]) : undefined)),
  ]);
  return { steps, events };
}

const utf8 = new TextEncoder();

function judge<T>(status: number, text: string, read: (value: unknown) => T | undefined): Judgement<T> {
  if (status >= 200 && status < 300) {
    try {
      const value = read(parseJsonBytes(utf8.encode(text), "The answer"));
      if (value !== undefined) return { ok: true, value };
    } catch {
      // Cut off, or a page of a proxy: said below.
    }
    return { ok: false, retry: true, reason: `${status}, but its body is not as expected.` };
  }
  return refused(status, text);
}
