/** First line and headers of an HTTP/1.1 message. */
export interface HttpHead {
  /** `POST /path HTTP/1.1` or `HTTP/1.1 200 OK`. */
  readonly startLine: string;
  /** Names in lower case; values of a repeated header joined by ", ". */
  readonly headers: ReadonlyMap<string, string>;
  readonly raw: Uint8Array;
}

/** What one direction of a connection turns out to be, piece by piece; the `raw` bytes together are the stream. */
export type HttpPiece =
  | { readonly kind: "head"; readonly head: HttpHead }
  | { readonly kind: "body"; readonly raw: Uint8Array; readonly content: Uint8Array }
  | { readonly kind: "end" }
  /** From here on the bytes are not HTTP, or none that can be read. */
  | { readonly kind: "rest"; readonly raw: Uint8Array };

/** How a message's body ends; `switch` means that the stream is no HTTP from here on. */
export type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  | { readonly kind: "until-close" }
  | { readonly kind: "switch" };

export interface HttpParser {
  push(bytes: Uint8Array): HttpPiece[];
}

const MAX_HEAD_BYTES = 64 * 1024;
const CRLF = Buffer.from("\r\n");
const HEAD_END = Buffer.from("\r\n\r\n");

type State =
  | { readonly in: "head" }
  | { readonly in: "length"; readonly left: number }
  | { readonly in: "until-close" }
  | { readonly in: "chunk-size" }
  | { readonly in: "chunk-data"; readonly left: number }
  | { readonly in: "trailers" }
  | { readonly in: "rest" };

/**
 * Cuts one direction of an HTTP/1.1 connection into messages.
 * @param framingOf asked once per message: only the requests say what a response's head means
 */
export function createHttpParser(framingOf: (head: HttpHead) => Framing): HttpParser {
  let held: Buffer = Buffer.alloc(0);
  let state: State = { in: "head" };

  const take = (bytes: number): Buffer => {
    const taken = held.subarray(0, bytes);
    held = held.subarray(bytes);
    return taken;
  };
  /** One piece, or undefined when more bytes are needed first. */
  const next = (): HttpPiece[] | undefined => {
    switch (state.in) {
      case "head":
        return nextHead();
      case "length":
      case "chunk-data":
      case "until-close":
        return nextContent(state);
      case "chunk-size":
        return nextChunkSize();
      case "trailers":
        return nextTrailer();
      case "rest":
        return held.length > 0 ? [{ kind: "rest", raw: take(held.length) }] : undefined;
    }
  };
  const giveUp = (): HttpPiece[] => {
    state = { in: "rest" };
    return [];
  };
  const nextHead = (): HttpPiece[] | undefined => {
    const end = held.indexOf(HEAD_END);
    if (end < 0) return held.length > MAX_HEAD_BYTES ? giveUp() : undefined;
    const head = parseHead(take(end + HEAD_END.length));
    const framing = framingOf(head);
    state = stateAfter(framing);
    const over = framing.kind === "none" || (framing.kind === "length" && framing.bytes === 0);
    if (over) state = { in: "head" };
    return over ? [{ kind: "head", head }, { kind: "end" }] : [{ kind: "head", head }];
  };
  const nextContent = (
    at: Extract<State, { in: "length" | "chunk-data" | "until-close" }>,
  ): HttpPiece[] | undefined => {
    if (held.length === 0) return undefined;
    const left = at.in === "until-close" ? held.length : at.left;
    const raw = take(Math.min(left, held.length));
    const rest = left - raw.length;
    if (at.in === "until-close") return [{ kind: "body", raw, content: raw }];
    if (at.in === "length") {
      state = rest > 0 ? { in: "length", left: rest } : { in: "head" };
      const piece: HttpPiece = { kind: "body", raw, content: raw };
      return rest > 0 ? [piece] : [piece, { kind: "end" }];
    }
    // The last two bytes of a chunk are its line end.
    state = rest > 0 ? { in: "chunk-data", left: rest } : { in: "chunk-size" };
    return [{ kind: "body", raw, content: raw.subarray(0, Math.max(0, Math.min(raw.length, left - CRLF.length))) }];
  };
  const nextChunkSize = (): HttpPiece[] | undefined => {
    const end = held.indexOf(CRLF);
    if (end < 0) return held.length > MAX_HEAD_BYTES ? giveUp() : undefined;
    const line = held.toString("latin1", 0, end);
    if (!/^[0-9a-f]{1,12}\s*(;|$)/i.test(line)) return giveUp();
    const size = Number.parseInt(line, 16);
    state = size === 0 ? { in: "trailers" } : { in: "chunk-data", left: size + CRLF.length };
    return [{ kind: "body", raw: take(end + CRLF.length), content: Buffer.alloc(0) }];
  };
  const nextTrailer = (): HttpPiece[] | undefined => {
    const end = held.indexOf(CRLF);
    if (end < 0) return held.length > MAX_HEAD_BYTES ? giveUp() : undefined;
    const piece: HttpPiece = { kind: "body", raw: take(end + CRLF.length), content: Buffer.alloc(0) };
    if (end > 0) return [piece];
    state = { in: "head" };
    return [piece, { kind: "end" }];
  };

  return {
    push(bytes) {
      held = held.length === 0 ? Buffer.from(bytes) : Buffer.concat([held, bytes]);
      const pieces: HttpPiece[] = [];
      for (let more = next(); more !== undefined; more = next()) pieces.push(...more);
      return pieces;
    },
  };
}

function stateAfter(framing: Framing): State {
  switch (framing.kind) {
    case "none":
      return { in: "head" };
    case "length":
      return { in: "length", left: framing.bytes };
    case "chunked":
      return { in: "chunk-size" };
    case "until-close":
      return { in: "until-close" };
    case "switch":
      return { in: "rest" };
  }
}

function parseHead(raw: Buffer): HttpHead {
  const [startLine = "", ...lines] = raw.toString("latin1").trimEnd().split("\r\n");
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return { startLine, headers, raw };
}

/** How the body of a request is framed (RFC 9112, section 6.3). */
export function requestFraming({ headers }: HttpHead): Framing {
  if (/\bupgrade\b/i.test(headers.get("connection") ?? "")) return { kind: "switch" };
  return declaredFraming(headers) ?? { kind: "none" };
}

/** How the body of a response is framed, which depends on the request. */
export function responseFraming({ startLine, headers }: HttpHead, method: string): Framing {
  const status = statusOf(startLine);
  if (status === 101) return { kind: "switch" };
  if (status < 200 || status === 204 || status === 304 || method === "HEAD") return { kind: "none" };
  return declaredFraming(headers) ?? { kind: "until-close" };
}

export const statusOf = (startLine: string): number => Number(startLine.split(" ")[1] ?? 0);

function declaredFraming(headers: ReadonlyMap<string, string>): Framing | undefined {
  if (/\bchunked\b/i.test(headers.get("transfer-encoding") ?? "")) return { kind: "chunked" };
  const length = headers.get("content-length");
  return length !== undefined && /^\d+$/.test(length) ? { kind: "length", bytes: Number(length) } : undefined;
}
