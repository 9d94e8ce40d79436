import {
  type BackoffPolicy,
  backoffDelayMs,
  type Clock,
  messageOf,
  type Random,
  sleep,
  type Timers,
} from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import type { FetchLike } from "./client-options.ts";

export interface SendPorts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly fetch: FetchLike;
}

export interface SendRequest {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** What an answer means. */
export type Judgement<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly retry: boolean; readonly reason: string; readonly cause?: unknown };

/** `tries` is empty, or says how often it was tried. */
export type PostOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string; readonly tries: string; readonly cause?: unknown };

const MAX_TRIES = 5;
const TRY_TIMEOUT_MS = 10_000;
const RETRY: BackoffPolicy = { baseMs: 100, factor: 2, maxMs: 5_000, jitter: 0.5 };

/** Posts to the gateway. Network errors, and answers of which `judge` says so, are tried again, five tries in all. */
export async function post<T>(
  request: SendRequest,
  ports: SendPorts,
  judge: (status: number, text: string) => Judgement<T>,
): Promise<PostOutcome<T>> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await tryOnce(request, ports, judge);
    if (outcome.ok) return outcome;
    if (!outcome.retry || attempt >= MAX_TRIES) {
      const { reason, cause } = outcome;
      return { ok: false, reason, tries: attempt === 1 ? "" : ` (after ${attempt} tries)`, cause };
    }
    await sleep(ports.timers, backoffDelayMs(RETRY, attempt, ports.random));
  }
}

async function tryOnce<T>(
  { url, headers, body }: SendRequest,
  ports: SendPorts,
  judge: (status: number, text: string) => Judgement<T>,
): Promise<Judgement<T>> {
  const late = new AbortController();
  const timer = ports.timers.set(TRY_TIMEOUT_MS, () => late.abort(new Error(`no answer within ${TRY_TIMEOUT_MS} ms`)));
  try {
    const response = await ports.fetch(url, { method: "POST", headers, body, signal: late.signal });
    return judge(response.status, await response.text());
  } catch (cause) {
    return { ok: false, retry: true, reason: networkReason(cause), cause };
  } finally {
    timer.cancel();
  }
}

function networkReason(error: unknown): string {
  const cause = (error as { cause?: unknown } | null)?.cause;
  return cause === undefined ? messageOf(error) : `${messageOf(error)} (${messageOf(cause)})`;
}

/** The object that a body holds; empty when it holds none. */
export function jsonRecord(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text);
    return isRecord(body) ? body : {};
  } catch {
    return {};
  }
}
