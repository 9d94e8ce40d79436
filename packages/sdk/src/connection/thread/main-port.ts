/**
 * The connection thread's port to main: batches messages by turn and moves large payloads instead of copying them.
 */
import type { MessagePort } from "node:worker_threads";
import { type MainMessage, readMainMessages, type ThreadMessage } from "../shared/messages.ts";
import { packMessages } from "../shared/packed-bytes.ts";

/** From this size on bytes are moved to main instead of copied; below it copying is cheaper. */
export const TRANSFER_BYTES = 64 * 1024;

/** What is used of the port that Node gives a thread. */
export type ParentPort = Pick<MessagePort, "on" | "postMessage" | "close">;

/** The way to main: messages of one turn are posted together, in order. */
export interface MainPort {
  /** The bytes in `message` must be its own, or pooled: large ones are gone after this. */
  post(message: ThreadMessage): void;
  flush(): void;
  listen(onMessage: (message: MainMessage) => void): void;
  close(): void;
}

export function createMainPort(port: ParentPort, scheduleFlush: () => void): MainPort {
  let waiting: ThreadMessage[] = [];
  let moved: ArrayBuffer[] = [];
  return {
    post: (message) => {
      waiting.push(message);
      if (message.type === "EXECUTION_REQUEST" && message.request.byteLength >= TRANSFER_BYTES) {
        moved.push(message.request.buffer as ArrayBuffer);
      }
      scheduleFlush();
    },
    flush: () => {
      if (waiting.length === 0) return;
      const { messages, packs } = packMessages(waiting);
      const transfer = [...moved, ...packs];
      waiting = [];
      moved = [];
      port.postMessage(messages.length === 1 ? messages[0] : messages, transfer);
    },
    listen: (onMessage) => {
      port.on("message", (posted: unknown) => {
        for (const message of readMainMessages(posted)) onMessage(message);
      });
    },
    // Deno gives threads a port that cannot be closed; there they only exit.
    close: () => port.close?.(),
  };
}
