/** Sends a signal to the run that waits for it. `send-http.ts` makes the call and repeats it. */
import { HoldfastError, unstorableIn } from "@holdfast/core";
import { EVENT_LIMITS, isRecord } from "@holdfast/protocol";
import { apiBase, type GatewayAccess } from "./gateway-access.ts";
import { checkDepth } from "./json-depth.ts";
import {
  callFailed,
  callSigned,
  type Judgement,
  jsonRecord,
  jsonText,
  patienceOf,
  refused,
  type SendPorts,
} from "./send-http.ts";

export interface OutgoingSignal {
  readonly signal: string;
  /** Anything that JSON can carry. */
  readonly data?: unknown;
}

export interface SentSignal {
  /**
   * The run that waited for it; absent when none did. Then the signal went nowhere: it is not kept for a step that
   * begins to wait later. Send it again, or use an event and a wait with `since: "run"`.
   */
  readonly runId?: string;
}

/**
 * Sends a signal to the run that waits for it. Network errors, 5xx and 429 are tried again (5 tries at least, and for
 * 10 s, in dev mode 5 tries); a signing key that is refused is followed by the fallback key.
 * @throws HoldfastError `SIGNAL_SEND_FAILED`, `OPTION_INVALID`; the gateway's code of what it refuses, such as
 *   `GRAPH_ANSWER_INVALID`
 */
export async function sendSignal(options: GatewayAccess, given: OutgoingSignal, ports: SendPorts): Promise<SentSignal> {
  const { signal, data } = given ?? {};
  const url = new URL("v1/signals", apiBase(options)).href;
  const body = encodeSignal(signal, data);
  const answer = await callSigned(
    options,
    { url, headers: { "Content-Type": "application/json" }, body, patienceMs: patienceOf(options) },
    ports,
    judge,
  );
  if (answer.ok) return answer.value;
  throw callFailed(answer.code ?? "SIGNAL_SEND_FAILED", url, `did not accept the signal "${signal}"`, answer);
}

/**
 * A signal as it is sent: checked, as JSON text.
 * @throws HoldfastError `OPTION_INVALID`
 */
export function encodeSignal(signal: unknown, data: unknown): string {
  if (typeof signal !== "string" || signal === "") {
    throw new HoldfastError("OPTION_INVALID", 'sendSignal() needs the signal\'s name: { signal: "approved" }.');
  }
  if (signal.length > EVENT_LIMITS.maxSignalLength || unstorableIn(signal) !== null) {
    throw new HoldfastError(
      "OPTION_INVALID",
      `A signal's name must have at most ${EVENT_LIMITS.maxSignalLength} characters, without NUL or half surrogate pairs, not ${JSON.stringify(signal.slice(0, 40))}.`,
    );
  }
  const what = `The data of signal "${signal}"`;
  const text = jsonText({ signal, data }, what);
  // The body is a level itself.
  checkDepth(text, data, what, "OPTION_INVALID");
  return text;
}

/** Pages of a proxy and the like, whatever their status, say nothing about the signal. */
function judge(status: number, text: string): Judgement<SentSignal> {
  const body = jsonRecord(text);
  const { data, error } = body;
  if (status === 404 && typeof error === "string") return { ok: true, value: {} };
  if (status >= 200 && status < 300 && isRecord(data)) {
    const runId = data.run_id;
    return { ok: true, value: typeof runId === "string" && runId ? { runId } : {} };
  }
  return refused(status, text, body);
}
