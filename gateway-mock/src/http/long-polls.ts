/**
 * Requests that wait for the end of a run (`?wait=30s`). They are bounded by their own number, not by that of the
 * connections: each keeps one.
 */
import type { Socket } from "node:net";
import { HoldfastError, parseDurationMs } from "@holdfast/core";
import { environmentOf, type RunDetail } from "@holdfast/store";
import type { Context } from "hono";
import { followsLinks, nextLink } from "./chain-links.ts";
import { notFound } from "./errors.ts";
import type { HttpParts } from "./parts.ts";

const MAX_WAIT_MS = 60_000;

/**
 * Resolves once the run has ended, or after the time that the caller asks for; at once when it does not wait. Gives the
 * run that is meant then, the last one where it went on as others, and what was read of it on the way.
 * @throws HoldfastError `NOT_FOUND`, `BODY_INVALID`, `WATCHERS_FULL`, `GATEWAY_CLOSING`
 */
export async function waitAsAsked(c: Context, id: string, parts: WaitParts): Promise<Meant> {
  const { dispatcher, excuse, clock, store } = parts;
  const waitMs = readWait(c.req.query("wait"));
  const goesOn = followsLinks(c);
  if (waitMs === 0) return { id, ended: null };
  const { incoming } = (c.env ?? {}) as { readonly incoming?: { readonly socket: Socket } };
  const isBack = incoming && excuse?.(incoming.socket);
  const endMs = clock.monotonicMs() + waitMs;
  try {
    for (let link = id; ; ) {
      const leftMs = Math.max(0, endMs - clock.monotonicMs());
      const outcome = await dispatcher.waitForEnd(link, leftMs, c.req.raw.signal);
      if (outcome.is === "gone" || environmentOf(outcome.functionId) !== c.get("environment")) {
        throw notFound(`There is no run ${link}.`);
      }
      if (outcome.is === "late" || !goesOn) return { id: link, ended: null };
      const ended = await store.getRun(link);
      const next = ended && (await nextLink(store, ended));
      if (!next) return { id: link, ended };
      link = next.head.id;
    }
  } finally {
    isBack?.();
  }
}

export interface Meant {
  readonly id: string;
  /** Null: it was not read, or has not ended. */
  readonly ended: RunDetail | null;
}

type WaitParts = Pick<HttpParts, "dispatcher" | "excuse" | "clock" | "store">;

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
