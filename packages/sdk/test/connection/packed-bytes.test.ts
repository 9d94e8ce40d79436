import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import type { MainMessage } from "../../src/connection/shared/messages.ts";
import { ownedBytes, PACK_BYTES, packMessages, pooledCopy } from "../../src/connection/shared/packed-bytes.ts";

const bytesOf = (message: object): Uint8Array | undefined =>
  (message as { ops?: Uint8Array }).ops ?? (message as { response?: Uint8Array }).response;

test("PACK-1: the other thread gets what was posted, with no memory behind it that was not", () => {
  const part = fc.record({ size: fc.nat({ max: 20_000 }), isReply: fc.boolean(), isPooled: fc.boolean() });
  fc.assert(
    fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
      const messages = parts.map(({ size, isReply, isPooled }, index): MainMessage => {
        const own = new Uint8Array(size).fill(index + 1);
        const bytes = isPooled ? pooledCopy(own) : own;
        const requestId = `request-${index}`;
        if (size % 7 === 0) return { type: "EXECUTION_DROPPED", requestId };
        return isReply
          ? { type: "EXECUTION_RESPONSE", requestId, response: bytes }
          : { type: "CHECKPOINT", requestId, sequence: index, ops: bytes };
      });
      const { messages: packed, packs } = packMessages(messages);
      const posted = structuredClone(packed, { transfer: [...packs] });
      // What was given is whole afterwards. Buffers arrive as what they are below.
      const plain = (all: readonly object[]): unknown =>
        all.map((one) => {
          const bytes = bytesOf(one);
          return { ...one, ops: undefined, response: undefined, hex: bytes && Buffer.from(bytes).toString("hex") };
        });
      expect(plain(posted)).toEqual(plain(messages));
      const behind = new Map<ArrayBufferLike, number>();
      for (const bytes of posted.map(bytesOf)) {
        if (bytes !== undefined) behind.set(bytes.buffer, (behind.get(bytes.buffer) ?? 0) + bytes.byteLength);
      }
      for (const [buffer, used] of behind) expect(buffer.byteLength).toBe(used);
    }),
    { numRuns: runs(200) },
  );
});

test("small ones share a buffer up to its limit, and what is large has its own", () => {
  const checkpoint = (bytes: number): MainMessage => ({
    type: "CHECKPOINT",
    requestId: "r",
    sequence: 1,
    ops: pooledCopy(new Uint8Array(bytes)),
  });
  const { messages: packed, packs } = packMessages([
    ...Array.from({ length: 10 }, () => checkpoint(2_000)),
    checkpoint(50_000),
  ]);
  const buffers = packed.map((message) => bytesOf(message)?.buffer);
  expect(new Set(buffers.slice(0, 4)).size).toBe(1);
  expect(new Set(buffers).size).toBe(4);
  // Two of four messages move. One of two is copied, being small, and the large one stays whose it is.
  expect(packs.map(({ byteLength }) => byteLength)).toEqual([8_000, 8_000]);
  expect(packs).toEqual([buffers[0], buffers[4]]);
  for (const buffer of buffers.slice(0, 10)) expect(buffer?.byteLength).toBeLessThanOrEqual(PACK_BYTES);
});

test("bytes in memory that threads share are posted as they are, with the room around them", () => {
  const shared = new Uint8Array(new SharedArrayBuffer(200_000)).subarray(1_000, 199_000).fill(5);
  const posted: MainMessage = { type: "EXECUTION_RESPONSE", requestId: "r", response: shared };
  const { messages: packed, packs } = packMessages([posted]);
  expect(packed).toEqual([posted]);
  expect(bytesOf(packed[0] ?? {})).toBe(shared);
  expect(packs.every(({ byteLength }) => byteLength === 0)).toBe(true);
  expect(ownedBytes(shared)).toBe(shared);
});
