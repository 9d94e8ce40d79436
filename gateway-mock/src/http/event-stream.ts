/**
 * Server-Sent Events: messages as text, and the body that sends them. A body asks for its next message when the one before
 * has left, so who reads slowly is sent slowly; who reads nothing for long is ended.
 */
import type { ServerResponse } from "node:http";
import type { TimerHandle, Timers } from "@holdfast/core";
import type { Context } from "hono";

import { jsonWith } from "./json-answer.ts";

/** How long clients wait before they come back. */
const RETRY_MS = 1_000;
/** What is sent is not read: longer than any pause of a client that is alive. */
const SLOW_MS = 60_000;

export interface Message {
  readonly event: string;
  /** Where the stream goes on after it. */
  readonly id?: string;
  readonly data: object;
}

export function messageText({ event, id, data }: Message): string {
  const lines = jsonWith(data).split(/\r\n|\r|\n/);
  return `event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}${lines.map((line) => `data: ${line}\n`).join("")}\n`;
}

/** Not seen by those who listen for messages, but by what stands between, and it moves the place to go on from. */
export const quietText = (id: string): string => `: still here\nid: ${id}\n\n`;

export interface EventStream {
  /** Texts of messages, as they come. */
  readonly texts: AsyncGenerator<string, void>;
  /** Ends `texts` soon. */
  end(): void;
}

export interface EventStreamOptions {
  readonly timers: Timers;
  /** A client was ended for not reading. */
  readonly onSlow: () => void;
  readonly slowMs?: number;
}

/** Answers with the messages of `open`, which is called once the client reads. */
export function answerEvents(c: Context, open: () => EventStream, options: EventStreamOptions): Response {
  const { timers, onSlow, slowMs = SLOW_MS } = options;
  const { outgoing } = (c.env ?? {}) as { readonly outgoing?: ServerResponse };
  const encoder = new TextEncoder();
  let stream: EventStream | null = null;
  let timer: TimerHandle | null = null;
  const end = (): void => {
    timer?.cancel();
    stream?.end();
  };
  const cut = (): void => {
    // The last message left, or the client did after `texts` had ended.
    if (outgoing?.closed) return;
    onSlow();
    end();
    outgoing?.destroy();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        timer?.cancel();
        const isFirst = stream === null;
        stream ??= open();
        if (isFirst) controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`));
        if (isFirst) return;
        try {
          const { value, done } = await stream.texts.next();
          if (done) controller.close();
          else controller.enqueue(encoder.encode(value));
        } catch (error) {
          controller.error(error);
          return;
        }
        timer = timers.set(slowMs, cut, { unref: true });
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
  return c.body(body, 200, {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
  });
}
