import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../packages/tooling/src/runs.ts";
import { PendingSockets } from "../../src/ws/pending-sockets.ts";

const LIMITS = { maxSockets: 4, ownBytes: 100, sharedBytes: 300, pieceBytes: 10 };
const LARGEST_PIECE = 200;

interface Peer {
  readonly stream: PassThrough;
  readonly release: () => void;
  /** What was told to it, in order. */
  readonly evicted: string[];
}

type Move =
  | { readonly type: "open" }
  | { readonly type: "send"; readonly who: number; readonly bytes: number }
  | { readonly type: "accept" | "leave"; readonly who: number };

const who = fc.nat(20);
const anyMove: fc.Arbitrary<Move> = fc.oneof(
  fc.constant<Move>({ type: "open" }),
  fc.record({ type: fc.constant("send" as const), who, bytes: fc.integer({ min: 1, max: LARGEST_PIECE }) }),
  fc.record({ type: fc.constantFrom("accept" as const, "leave" as const), who }),
);

test("PENDING-1 to PENDING-3 hold for random sequences of connections", () => {
  fc.assert(
    fc.property(fc.array(anyMove, { maxLength: 120 }), (moves) => {
      const sockets = new PendingSockets(LIMITS);
      const peers: Peer[] = [];
      for (const move of moves) play(sockets, peers, move);
      const { maxSockets, ownBytes, sharedBytes, pieceBytes } = LIMITS;
      expect(sockets.status().peakBytes).toBeLessThanOrEqual(
        maxSockets * ownBytes + sharedBytes + maxSockets * (LARGEST_PIECE + pieceBytes),
      );
      for (const { evicted } of peers) expect(evicted.length).toBeLessThanOrEqual(1);
      for (const { release } of peers) release();
      expect(sockets.status()).toMatchObject({ sockets: 0, bytes: 0 });
    }),
    { numRuns: runs(500) },
  );
});

function play(sockets: PendingSockets, peers: Peer[], move: Move): void {
  if (move.type === "open") {
    const stream = new PassThrough();
    const before = sockets.status();
    const pending = sockets.admit(stream);
    expect(sockets.status().sockets).toBeLessThanOrEqual(LIMITS.maxSockets);
    if (!pending) return void expect(before.sockets).toBe(LIMITS.maxSockets);
    const evicted: string[] = [];
    pending.onEvicted = (why) => void evicted.push(why);
    peers.push({ stream, release: () => pending.release(), evicted });
    return;
  }
  const peer = peers[move.who % Math.max(1, peers.length)];
  if (!peer) return;
  switch (move.type) {
    case "send":
      // As a stream does that flows; what was evicted is not read any more.
      return void (peer.evicted.length === 0 && peer.stream.emit("data", Buffer.alloc(move.bytes)));
    case "accept":
      return peer.release();
    case "leave":
      return void peer.stream.emit("close");
  }
}

test("each pending socket has its own allowance, whatever the others use", () => {
  const sockets = new PendingSockets(LIMITS);
  const evictions: string[] = [];
  const open = (name: string): PassThrough => {
    const stream = new PassThrough();
    const pending = sockets.admit(stream);
    if (pending) pending.onEvicted = (why) => void evictions.push(`${name} ${why}`);
    return stream;
  };
  const [greedy, modest] = [open("greedy"), open("modest")];
  greedy.emit("data", Buffer.alloc(390));
  expect([evictions, sockets.status().bytes]).toEqual([[], 400]);
  modest.emit("data", Buffer.alloc(90));
  expect(evictions).toEqual([]);
  modest.emit("data", Buffer.alloc(1));
  expect(evictions).toEqual(["modest too-large"]);
  greedy.emit("close");
  modest.emit("close");
  open("next").emit("data", Buffer.alloc(390));
  expect(evictions).toEqual(["modest too-large"]);
});
