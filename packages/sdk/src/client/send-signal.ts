import { HoldfastError, messageOf } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { SDK_NAME } from "../version.ts";
import type { ResolvedClientOptions } from "./client-options.ts";
import { type Judgement, jsonRecord, post, type SendPorts } from "./send-http.ts";

export interface OutgoingSignal {
  readonly signal: string;
  /** Anything that JSON can carry. */
  readonly data?: unknown;
}

export interface SentSignal {
  /** The run that waited for it; absent when none did. */
  readonly runId?: string;
}

/**
 * Sends a signal to the run that waits for it. Network errors, 5xx and 429 are tried again, five tries in all; a signing
 * key that is refused is followed by the fallback key.
 * @throws HoldfastError `SIGNAL_SEND_FAILED`, `OPTION_INVALID`
 */
export async function sendSignal(
  options: ResolvedClientOptions,
  { signal, data }: OutgoingSignal,
  ports: SendPorts,
): Promise<SentSignal> {
  const url = new URL("v1/signals", options.apiBaseUrl).href;
  const body = encode(signal, data);
  const keys = [options.signingKey, options.signingKeyFallback].filter((key) => key !== undefined);
  for (let index = 0; ; index += 1) {
    const key = keys[index];
    const headers = {
      "Content-Type": "application/json",
      "User-Agent": SDK_NAME,
      "x-inngest-sdk": SDK_NAME,
      ...(options.env === undefined ? {} : { "X-Inngest-Env": options.env }),
      ...(key === undefined ? {} : { Authorization: `Bearer ${key.reveal()}` }),
    };
    const answer = await post({ url, headers, body }, ports, judge);
    if (!answer.ok) {
      throw new HoldfastError(
        "SIGNAL_SEND_FAILED",
        `The gateway at ${new URL(url).origin} did not take the signal "${signal}"${answer.tries}: ${answer.reason}`,
        { cause: answer.cause },
      );
    }
    if (answer.value !== "refused") return answer.value;
    if (index + 1 >= keys.length) {
      throw new HoldfastError("SIGNAL_SEND_FAILED", `The gateway at ${new URL(url).origin} refused the signing key.`);
    }
  }
}

function encode(signal: unknown, data: unknown): string {
  if (typeof signal !== "string" || signal === "") {
    throw new HoldfastError(
      "OPTION_INVALID",
      'sendSignal() needs the signal\'s name: { signal: "order-42-approved" }.',
    );
  }
  try {
    return JSON.stringify(data === undefined ? { signal } : { signal, data });
  } catch (cause) {
    throw new HoldfastError("OPTION_INVALID", `The data of signal "${signal}" is not JSON: ${messageOf(cause)}`, {
      cause,
    });
  }
}

function judge(status: number, text: string): Judgement<SentSignal | "refused"> {
  if (status === 404) return { ok: true, value: {} };
  if (status === 401 || status === 403) return { ok: true, value: "refused" };
  const body = jsonRecord(text);
  if (status >= 200 && status < 300) {
    const runId = isRecord(body.data) ? body.data.run_id : undefined;
    return { ok: true, value: typeof runId === "string" && runId !== "" ? { runId } : {} };
  }
  const said = typeof body.error === "string" ? body.error : text.slice(0, 200) || "an empty body";
  return { ok: false, retry: status >= 500 || status === 429, reason: `${status} ${said}` };
}
