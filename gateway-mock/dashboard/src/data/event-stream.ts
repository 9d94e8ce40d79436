/**
 * Follows a stream of Server-Sent Events by `fetch`, which can send headers where the browser's own reader cannot. It
 * goes on where it broke off, at whichever gateway answers.
 */
import { endSession, requestHeaders } from "./api.ts";
import { readPiece } from "./sse-message.ts";

export interface StreamMessage {
  readonly event: string;
  readonly data: unknown;
}

export interface StreamHandlers {
  readonly onMessage: (message: StreamMessage) => void;
  /** `true`: it is read now. `false`: it broke off, and is tried again. */
  readonly onState: (isOpen: boolean) => void;
  /** Something came, be it only the sign that the gateway is there. */
  readonly onHeard?: () => void;
}

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 2_000;

/** Until the returned function is called. */
export function follow(path: string, { onMessage, onState, onHeard }: StreamHandlers): () => void {
  const end = new AbortController();
  void (async () => {
    let lastId = "";
    let waitMs = FIRST_RETRY_MS;
    while (!end.signal.aborted) {
      try {
        const headers = { ...requestHeaders(path), ...(lastId === "" ? {} : { "last-event-id": lastId }) };
        const response = await fetch(path, { headers, signal: end.signal, cache: "no-store" });
        // A position that this database does not have any more: begin anew.
        if (response.status === 400) lastId = "";
        if (response.status === 401) {
          onState(false);
          return endSession();
        }
        if (response.ok && response.body) {
          onState(true);
          waitMs = FIRST_RETRY_MS;
          const isOver = await readMessages(response.body, (message, id) => {
            if (id !== null) lastId = id;
            if (message) onMessage(message);
            onHeard?.();
          });
          if (isOver) return;
        }
      } catch {
        // It is tried again.
      }
      if (end.signal.aborted) return;
      onState(false);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      waitMs = Math.min(waitMs * 2, MAX_RETRY_MS);
    }
  })();
  return () => end.abort();
}

type OnPiece = (message: StreamMessage | null, id: string | null) => void;

/** True: the stream has ended for good reasons, as the run that it is about. */
async function readMessages(body: ReadableStream<Uint8Array>, onPiece: OnPiece): Promise<boolean> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  let isOver = false;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return isOver;
    const pieces = (rest + value).split("\n\n");
    rest = pieces.pop() ?? "";
    for (const piece of pieces) {
      const message = readPiece(piece);
      if (message.event === "end") isOver = true;
      onPiece(message.data === "" ? null : { event: message.event, data: JSON.parse(message.data) }, message.id);
    }
  }
}
