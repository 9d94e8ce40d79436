import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../tooling/src/runs.ts";
import { createHttpParser, requestFraming, responseFraming } from "../src/proxy/http-parser.ts";
import { createWebSocketParser } from "../src/proxy/websocket-parser.ts";

/** Cuts bytes at random places. */
const pieces = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
};

const frame = fc.record({
  fin: fc.boolean(),
  opcode: fc.constantFrom(0, 1, 2, 8, 9, 10),
  mask: fc.option(fc.uint8Array({ minLength: 4, maxLength: 4 }), { nil: undefined }),
  payload: fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.integer({ min: 65_530, max: 65_540 }).map((n) => new Uint8Array(n).fill(9)),
  ),
});

interface Plain {
  readonly fin: boolean;
  readonly opcode: number;
  readonly mask: Uint8Array | undefined;
  readonly payload: Uint8Array;
}

function encodeFrame({ fin, opcode, mask, payload }: Plain): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = (fin ? 0x80 : 0) | opcode;
  head[1] = (mask ? 0x80 : 0) | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  const body = mask ? payload.map((byte, i) => byte ^ (mask[i % 4] ?? 0)) : payload;
  return Buffer.concat([head, mask ?? Buffer.alloc(0), body]);
}

test("WebSocket frames come out unchanged, wherever the stream is split", () => {
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 6 }), fc.array(fc.nat(400_000), { maxLength: 12 }), (frames, cuts) => {
      const bytes = Buffer.concat(frames.map(encodeFrame));
      const parser = createWebSocketParser(1_000_000);
      const results = pieces(bytes, cuts).flatMap((piece) => parser.push(piece));
      const seen = results.flatMap((result) => (result.kind === "frame" ? [result.frame] : []));
      const plain = ({ fin, opcode, payload }: Omit<Plain, "mask">): string =>
        `${fin} ${opcode} ${Buffer.from(payload).toString("latin1")}`;
      expect(seen.map(plain).join("\n") === frames.map(plain).join("\n")).toBe(true);
      expect(Buffer.concat(seen.map(({ raw }) => raw)).equals(bytes)).toBe(true);
    }),
    { numRuns: runs(100) },
  );
});

test("bytes that are not WebSocket frames pass unchanged", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.array(fc.nat(300)), (junk, cuts) => {
      const parser = createWebSocketParser(1_000);
      const results = pieces(Buffer.from(junk), cuts).flatMap((piece) => parser.push(piece));
      const raw = Buffer.concat(results.map((result) => (result.kind === "frame" ? result.frame.raw : result.raw)));
      expect(Buffer.from(junk).subarray(0, raw.length).equals(raw)).toBe(true);
      if (results.some(({ kind }) => kind === "broken")) expect(raw).toHaveLength(junk.length);
    }),
  );
});

test("the parser does not wait for a frame announced as larger than the limit", () => {
  const head = Buffer.from([0x82, 127, 0, 0, 1, 0, 0, 0, 0, 0]);
  expect(createWebSocketParser(1_000).push(head)).toMatchObject([
    { kind: "broken", why: expect.stringContaining("over the limit") },
  ]);
});

const message = fc.record({
  path: fc.stringMatching(/^\/[a-z]{0,8}$/),
  body: fc.uint8Array({ maxLength: 300 }),
  chunks: fc.option(fc.array(fc.nat(300), { maxLength: 4 }), { nil: undefined }),
  trailer: fc.boolean(),
});

interface Message {
  readonly path: string;
  readonly body: Uint8Array;
  readonly chunks: number[] | undefined;
  readonly trailer: boolean;
}

function encodeMessage(startLine: string, { body, chunks, trailer }: Message): Buffer {
  const head = (field: string): Buffer => Buffer.from(`${startLine}\r\nHost: x\r\n${field}\r\n\r\n`);
  if (chunks === undefined) return Buffer.concat([head(`Content-Length: ${body.length}`), body]);
  const parts = pieces(Buffer.from(body), chunks).filter((part) => part.length > 0);
  const encoded = parts.flatMap((part) => [
    Buffer.from(`${part.length.toString(16)};x=y\r\n`),
    part,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([
    head("Transfer-Encoding: chunked"),
    ...encoded,
    Buffer.from(`0\r\n${trailer ? "A: b\r\n" : ""}\r\n`),
  ]);
}

test.each(["request", "response"] as const)("HTTP %ss come out unchanged, wherever the stream is split", (what) => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 4 }), fc.array(fc.nat(2_000), { maxLength: 20 }), (messages, cuts) => {
      const startLine = (path: string): string =>
        what === "request" ? `POST ${path} HTTP/1.1` : `HTTP/1.1 200 ${path}`;
      const bytes = Buffer.concat(messages.map((each) => encodeMessage(startLine(each.path), each)));
      const parser = createHttpParser((head) =>
        what === "request" ? requestFraming(head) : responseFraming(head, "GET"),
      );
      const seen: { startLine: string; body: Buffer; ended: boolean }[] = [];
      const raw: Uint8Array[] = [];
      for (const piece of pieces(bytes, cuts).flatMap((part) => parser.push(part))) {
        if (piece.kind === "head") {
          raw.push(piece.head.raw);
          seen.push({ startLine: piece.head.startLine, body: Buffer.alloc(0), ended: false });
          continue;
        }
        const last = seen.at(-1);
        expect(piece.kind).not.toBe("rest");
        if (piece.kind === "end" && last) last.ended = true;
        if (piece.kind === "body" && last) {
          raw.push(piece.raw);
          last.body = Buffer.concat([last.body, piece.content]);
        }
      }
      expect(Buffer.concat(raw).equals(bytes)).toBe(true);
      expect(seen).toEqual(
        messages.map(({ path, body }) => ({ startLine: startLine(path), body: Buffer.from(body), ended: true })),
      );
    }),
    { numRuns: runs(200) },
  );
});

test("a response without a length lasts until the connection ends, HEAD has no body, 1xx is followed by another", () => {
  const parts = (text: string, method: string) =>
    createHttpParser((head) => responseFraming(head, method))
      .push(Buffer.from(text))
      .map(({ kind }) => kind);
  expect(parts("HTTP/1.1 200 OK\r\n\r\nabc", "GET")).toEqual(["head", "body"]);
  expect(parts("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HEAD")).toEqual(["head", "end"]);
  expect(parts("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n", "GET")).toEqual(["head", "end", "head", "end"]);
  expect(parts("HTTP/1.1 101 Up\r\nConnection: upgrade\r\n\r\nxyz", "GET")).toEqual(["head", "rest"]);
  expect(parts("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "GET")).toEqual(["head", "rest"]);
});
