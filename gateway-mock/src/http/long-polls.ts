/**
 * Requests that wait for the end of a run (`?wait=30s`). They are bounded by their own number, not by that of the
 * connections: each keeps one.
 */
import type { Socket } from "node:net";
import { HoldfastError, parseDurationMs } from "@holdfast/core";
import { environmentOf } from "@holdfast/store";
import type { Context } from "hono";
import { notFound } from "./errors.ts";
import type { HttpParts } from "./parts.ts";

const MAX_WAIT_MS = 60_000;

/**
 * Resolves once the run has ended, or after the time that the caller asks for; at once when it does not wait.
 * @throws HoldfastError `NOT_FOUND`, `BODY_INVALID`, `WATCHERS_FULL`, `GATEWAY_CLOSING`
 */
export async function waitAsAsked(
  c: Context,
  id: string,
  { dispatcher, excuse }: Pick<HttpParts, "dispatcher" | "excuse">,
): Promise<void> {
  const waitMs = readWait(c.req.query("wait"));
  if (waitMs === 0) return;
  const { incoming } = (c.env ?? {}) as { readonly incoming?: { readonly socket: Socket } };
  const isBack = incoming && excuse?.(incoming.socket);
  try {
    const outcome = await dispatcher.waitForEnd(id, waitMs, c.req.raw.signal);
    if (outcome.is === "gone" || environmentOf(outcome.functionId) !== c.get("environment")) {
      throw notFound(`There is no run ${id}.`);
    }
  } finally {
    isBack?.();
  }
}

function readWait(text: string | undefined): number {
  if (text === undefined || text === "") return 0;
  const waitMs = durationMs(text);
  if (waitMs >= 0 && waitMs <= MAX_WAIT_MS) return waitMs;
  throw new HoldfastError("BODY_INVALID", '`wait` must be a duration of at most a minute, such as "30s".');
}

function durationMs(text: string): number {
  try {
    return /^\d+$/.test(text) ? Number(text) : parseDurationMs(text, "wait");
  } catch {
    return Number.NaN;
  }
}
