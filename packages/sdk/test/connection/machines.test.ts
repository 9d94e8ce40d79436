import type { GatewayFrame } from "@holdfast/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import {
  HANDSHAKE_START,
  type HandshakeEvent,
  stepHandshake,
} from "../../src/connection/machines/handshake-machine.ts";
import { parseIntervalMs } from "../../src/connection/machines/intervals.ts";
import { createLeaseTable } from "../../src/connection/machines/lease-table.ts";
import { MAX_SENDS, MAX_SENT_BYTES, Outbox } from "../../src/connection/machines/outbox.ts";
import {
  createRespawnStep,
  RESPAWN_START,
  type RespawnEvent,
  type RespawnState,
} from "../../src/connection/machines/respawn-machine.ts";
import { RecentIds } from "../../src/connection/shared/recent-ids.ts";

describe("Handshake machine", () => {
  const ready = {
    kind: "GATEWAY_CONNECTION_READY",
    heartbeatInterval: "",
    extendLeaseInterval: "",
    statusInterval: "",
    extensions: [],
  } as const;
  const events = fc.array(
    fc.constantFrom<HandshakeEvent>(
      { type: "FRAME", frame: { kind: "GATEWAY_HELLO" } },
      { type: "FRAME", frame: ready },
      { type: "FRAME", frame: { kind: "SYNC_FAILED", code: "c", message: "m" } },
      { type: "FRAME", frame: { kind: "UNKNOWN", number: 77 } },
      { type: "FRAME", frame: { kind: "GATEWAY_HEARTBEAT" } },
      { type: "BAD_FRAME", message: "bad" },
      { type: "CLOSED", code: 1008, reason: "config_invalid" },
      { type: "CLOSED", code: 1008, reason: "connect_worker_hello_timeout" },
      { type: "TIMEOUT" },
    ),
    { maxLength: 12 },
  );

  it("HANDSHAKE-1, HANDSHAKE-2, HANDSHAKE-4, HANDSHAKE-5: the handshake rules hold for any sequence of events", () => {
    fc.assert(
      fc.property(events, (sequence) => {
        let state = HANDSHAKE_START;
        const done: string[] = [];
        for (const event of sequence) {
          const [next, effects] = stepHandshake(state, event);
          if (done.includes("BECOME_READY") || done.includes("GIVE_UP")) {
            expect(effects, "HANDSHAKE-4").toEqual([]);
            expect(next, "HANDSHAKE-4").toBe(state);
          }
          for (const effect of effects) {
            if (effect.do === "BECOME_READY") expect(done, "HANDSHAKE-2").toEqual(["SEND_CONNECT"]);
            if (effect.do === "GIVE_UP" && effect.permanent) {
              const isRefusal =
                (event.type === "FRAME" && event.frame.kind === "SYNC_FAILED") ||
                (event.type === "CLOSED" && event.reason === "config_invalid");
              expect(isRefusal, "HANDSHAKE-5").toBe(true);
            }
            done.push(effect.do);
          }
          state = next;
        }
        expect(done.filter((effect) => effect === "SEND_CONNECT").length, "HANDSHAKE-1").toBeLessThanOrEqual(1);
      }),
    );
  });

  /** What ends a handshake that waits for HELLO, and one that waits for CONNECTION_READY; null = goes on. */
  const ends: Readonly<Record<GatewayFrame["kind"], readonly [RegExp | null, RegExp | null]>> = {
    GATEWAY_HELLO: [null, /GATEWAY_HELLO instead of GATEWAY_CONNECTION_READY/],
    GATEWAY_CONNECTION_READY: [/first frame was GATEWAY_CONNECTION_READY/, null],
    SYNC_FAILED: [/rejected the app's functions: m \(c\)/, /rejected the app's functions: m \(c\)/],
    GATEWAY_HEARTBEAT: [/first frame was GATEWAY_HEARTBEAT/, /GATEWAY_HEARTBEAT instead/],
    GATEWAY_CLOSING: [/first frame was GATEWAY_CLOSING/, /GATEWAY_CLOSING instead/],
    GATEWAY_EXECUTOR_REQUEST: [/first frame was GATEWAY_EXECUTOR_REQUEST/, /GATEWAY_EXECUTOR_REQUEST instead/],
    WORKER_REPLY_ACK: [/first frame was WORKER_REPLY_ACK/, /WORKER_REPLY_ACK instead/],
    WORKER_REQUEST_EXTEND_LEASE_ACK: [/first frame was WORKER_REQUEST_EXTEND/, /EXTEND_LEASE_ACK instead/],
    GATEWAY_CHECKPOINT_ACK: [/first frame was GATEWAY_CHECKPOINT_ACK/, /GATEWAY_CHECKPOINT_ACK instead/],
    GATEWAY_CANCEL: [/first frame was GATEWAY_CANCEL/, /GATEWAY_CANCEL instead/],
    GATEWAY_RESULTS: [/first frame was GATEWAY_RESULTS/, /GATEWAY_RESULTS instead/],
  };
  const others: readonly (readonly [HandshakeEvent, RegExp, RegExp])[] = [
    [{ type: "BAD_FRAME", message: "cut off" }, /not a valid frame: cut off/, /not a valid frame: cut off/],
    [{ type: "CLOSED", code: 1001, reason: "" }, /closed .*\(1001 without a reason\)/, /closed .*\(1001 without/],
    [{ type: "TIMEOUT" }, /did not send GATEWAY_HELLO in time/, /did not become ready in time/],
  ];
  const welcome = { phase: "welcome" } as const;

  it("HANDSHAKE-3: every other frame, unreadable bytes, a close and a timeout fail the handshake with the reason", () => {
    const rows = Object.entries(ends).map(([kind, [first, second]]) => {
      const frame = { kind, code: "c", message: "m" } as unknown as GatewayFrame;
      return [{ type: "FRAME", frame } as const, first, second] as const;
    });
    for (const [event, ...reasons] of [...rows, ...others]) {
      for (const [index, state] of [HANDSHAKE_START, welcome].entries()) {
        const [next, effects] = stepHandshake(state, event);
        const reason = reasons[index] ?? null;
        expect(next.phase === "failed", JSON.stringify(event)).toBe(reason !== null);
        if (reason === null) continue;
        expect(effects).toEqual([expect.objectContaining({ do: "GIVE_UP", message: expect.stringMatching(reason) })]);
      }
    }
  });

  it("HANDSHAKE-6: without an extension that the worker cannot do without the connection is refused, with its code", () => {
    const required = [{ extension: "queues", code: "QUEUES_UNSUPPORTED", message: "no queues" }] as const;
    const event = { type: "FRAME", frame: ready } as const;
    expect(stepHandshake(welcome, event, required)).toEqual([
      { phase: "failed" },
      [{ do: "GIVE_UP", message: "no queues", permanent: true, code: "QUEUES_UNSUPPORTED" }],
    ]);
    const agreed = { ...ready, extensions: ["queues"] as const };
    const [next] = stepHandshake(welcome, { type: "FRAME", frame: agreed }, required);
    expect(next).toEqual({ phase: "ready" });
  });

  it("HANDSHAKE-3: a frame of an unknown kind is ignored", () => {
    for (const state of [HANDSHAKE_START, welcome]) {
      expect(stepHandshake(state, { type: "FRAME", frame: { kind: "UNKNOWN", number: 77 } })).toEqual([state, []]);
    }
  });
});

describe("Lease table", () => {
  const at = (monotonicMs: number) => ({ monotonicMs, wallMs: 1_000_000 + monotonicMs });

  it("LEASE-1, LEASE-2: each lease is extended once until the answer, with its newest id, or after two intervals", () => {
    const table = createLeaseTable();
    table.add("r", "l0", 0, true);
    expect(table.sweep(at(100), 100).map((lease) => lease.leaseId)).toEqual(["l0"]);
    expect(table.sweep(at(200), 100)).toEqual([]);
    expect(table.sweep(at(300), 100).map((lease) => lease.leaseId)).toEqual(["l0"]);
    expect(table.onAnswer("r", "l1", 301).verdict).toBe("extended");
    expect(table.sweep(at(400), 100).map((lease) => lease.leaseId)).toEqual(["l1"]);
  });

  it("LEASE-3, LEASE-5: a rejected extension loses its lease once, and no other lease", () => {
    const table = createLeaseTable();
    table.add("r", "l0", 0, true);
    expect(table.onAnswer("other", "x", 1).verdict).toBe("unknown");
    expect(table.onAnswer("r", undefined, 1).verdict).toBe("lost");
    expect(table.onAnswer("r", undefined, 1).verdict).toBe("unknown");
    expect(table.size).toBe(0);
  });

  it("LEASE-4, LEASE-6: a reconnect extends all leases, and a sweep skips recently extended ones", () => {
    const table = createLeaseTable();
    table.add("a", "a0", 0, true);
    table.add("b", "b0", 90, true);
    expect(table.sweep(at(100), 100).map((lease) => lease.requestId)).toEqual(["a"]);
    expect(table.extendAll(at(101)).map((lease) => lease.requestId)).toEqual(["a", "b"]);
  });

  it("LEASE-7: when leases are in doubt, answers to earlier extensions confirm nothing, later ones do", () => {
    const table = createLeaseTable(1);
    table.add("r", "l0", 0, true);
    table.sweep(at(100), 100);
    table.beginDoubt(2);
    expect(table.extendUnconfirmed(at(5_000)).map((lease) => lease.leaseId)).toEqual(["l0"]);
    // Lay in the kernel all the while.
    expect(table.onAnswer("r", "l1", 5_001)).toMatchObject({ verdict: "extended", isFresh: false });
    expect(table.get("r")?.doubtNumber).toBe(1);
    expect(table.onAnswer("r", "l2", 5_002)).toMatchObject({ verdict: "extended", isFresh: true });
    expect(table.get("r")?.doubtNumber).toBe(2);
  });

  it("LEASE-7: on a new connection every answer confirms a lease, and a rejection always counts", () => {
    const table = createLeaseTable(1);
    for (const id of ["a", "b"]) table.add(id, `${id}0`, 0, true);
    table.sweep(at(100), 100);
    table.beginDoubt(2);
    expect(table.onAnswer("b", undefined, 101)).toMatchObject({ verdict: "lost", isFresh: false });
    table.extendAll(at(200));
    expect(table.onAnswer("a", "a1", 201)).toMatchObject({ verdict: "extended", isFresh: true });
    expect(table.get("a")?.doubtNumber).toBe(2);
  });

  it("LEASE-7: an extension without an answer delays confirmation only until the next one", () => {
    const table = createLeaseTable(1);
    table.add("r", "l0", 0, true);
    table.sweep(at(100), 100);
    table.beginDoubt(2);
    table.extendUnconfirmed(at(200));
    // Of the two that were asked for only one is answered.
    expect(table.onAnswer("r", "l1", 201).isFresh).toBe(false);
    expect(table.sweep(at(400), 100)).toHaveLength(1);
    expect(table.onAnswer("r", "l2", 401).isFresh).toBe(true);
  });

  it("LEASE-8: a lease added in doubt is confirmed by the answer to its own extension", () => {
    const table = createLeaseTable(1);
    table.beginDoubt(2);
    table.add("r", "l0", 0, false);
    expect(table.get("r")?.doubtNumber).toBeNull();
    expect(table.extend("r", at(1))).toHaveLength(1);
    expect(table.onAnswer("r", "l1", 2)).toMatchObject({ verdict: "extended", isFresh: true });
    expect(table.get("r")?.doubtNumber).toBe(2);
  });

  it("LEASE-9: an answer confirms a lease as of the oldest unanswered extension", () => {
    const table = createLeaseTable(1);
    table.add("r", "l0", 0, true);
    for (const ms of [100, 1_100, 2_100]) table.extend("r", at(ms));
    // It may have been given at once and have taken its time.
    expect(table.onAnswer("r", "l1", 9_000).asOf).toEqual(at(100));
    expect(table.onAnswer("r", "l2", 9_001).asOf).toEqual(at(1_100));
    table.extendAll(at(9_500));
    expect(table.onAnswer("r", "l3", 9_501).asOf).toEqual(at(9_500));
    expect(table.onAnswer("r", "nobody asked for it", 9_502).asOf).toBeNull();
    table.extend("r", at(9_600));
    table.beginDoubt(2);
    expect(table.onAnswer("r", "l4", 9_601).asOf, "asked for before the doubt").toBeNull();
  });
});

describe("Outbox", () => {
  const limits = { maxCount: 5, maxBytes: 100, ackMs: 1000, maxSentBytes: 70 };
  type Op =
    | { readonly op: "add"; readonly id: number; readonly kind: "reply" | "checkpoint"; readonly bytes: number }
    | { readonly op: "settle" | "flushFailed"; readonly id: number }
    | { readonly op: "up" | "down" }
    | { readonly op: "wait"; readonly ms: number; readonly urgent: boolean };
  const id = fc.integer({ min: 0, max: 8 });
  const ops: fc.Arbitrary<Op[]> = fc.array(
    fc.oneof(
      fc.record({
        op: fc.constant("add" as const),
        id,
        kind: fc.constantFrom("reply" as const, "checkpoint" as const),
        bytes: fc.integer({ min: 0, max: 60 }),
      }),
      fc.record({ op: fc.constantFrom("settle" as const, "flushFailed" as const), id }),
      fc.record({ op: fc.constantFrom("up" as const, "down" as const) }),
      fc.record({ op: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 1500 }), urgent: fc.boolean() }),
    ),
    { maxLength: 80 },
  );

  it("OUTBOX-1, OUTBOX-2, OUTBOX-3, OUTBOX-6, OUTBOX-7, OUTBOX-9: the outbox rules hold for any sequence of events", () => {
    fc.assert(
      fc.property(ops, (sequence) => {
        const outbox = new Outbox(limits);
        const model = new Map<string, { kind: string; bytes: number; flushing: boolean }>();
        /** On the present link. */
        const sent = new Set<string>();
        let nowMs = 0;
        let linked = false;
        const bytesOf = (keys: Iterable<string>): number =>
          [...keys].reduce((sum, key) => sum + (model.get(key)?.bytes ?? 0), 0);
        const check = (actions: ReturnType<Outbox["due"]>): void => {
          for (const { do: what, item } of actions) {
            const known = model.get(item.key)!;
            if (what === "SEND") {
              expect(linked, "OUTBOX-3").toBe(true);
              const before = [...model.keys()].slice(0, [...model.keys()].indexOf(item.key));
              expect(
                before.every((key) => sent.has(key)),
                "OUTBOX-9: in their order",
              ).toBe(true);
              sent.add(item.key);
            }
            if (what !== "FLUSH") continue;
            expect(item.kind, "OUTBOX-6").toBe("reply");
            expect(known.flushing, "OUTBOX-7").toBe(false);
            known.flushing = true;
          }
        };
        for (const op of sequence) {
          switch (op.op) {
            case "add": {
              const key = `k${op.id}`;
              if (!model.has(key)) model.set(key, { kind: op.kind, bytes: op.bytes, flushing: false });
              check(outbox.add({ key, requestId: key, kind: op.kind, bytes: op.bytes }, nowMs));
              break;
            }
            case "settle":
              expect(outbox.settle(`k${op.id}`) !== undefined).toBe(model.delete(`k${op.id}`));
              sent.delete(`k${op.id}`);
              check(outbox.next(nowMs));
              break;
            case "flushFailed": {
              const known = model.get(`k${op.id}`);
              if (known?.flushing) {
                known.flushing = false;
                outbox.flushFailed(`k${op.id}`, nowMs);
              }
              break;
            }
            case "up": {
              linked = true;
              sent.clear();
              check(outbox.linkUp(nowMs));
              break;
            }
            case "down":
              linked = false;
              sent.clear();
              outbox.linkDown(nowMs);
              break;
            case "wait":
              nowMs += op.ms;
              check(outbox.due(nowMs, op.urgent));
              break;
          }
          expect(outbox.count, "OUTBOX-1").toBe(model.size);
          expect(outbox.sentBytes).toBe(bytesOf(sent));
          expect(sent.size <= 1 || outbox.sentBytes <= limits.maxSentBytes, "OUTBOX-9").toBe(true);
          const next = [...model.keys()].find((key) => !sent.has(key));
          if (linked && next !== undefined) {
            expect(outbox.sentBytes, "OUTBOX-3: what has room is sent").toBeGreaterThan(0);
            expect(outbox.sentBytes + bytesOf([next]), "OUTBOX-3").toBeGreaterThan(limits.maxSentBytes);
          }
          const bytes = bytesOf(model.keys());
          expect(outbox.bytes).toBe(bytes);
          expect(outbox.full, "OUTBOX-2").toBe(model.size >= limits.maxCount || bytes >= limits.maxBytes);
          const dueMs = outbox.nextDueMs();
          expect(dueMs === null).toBe(model.size === 0);
          if (dueMs !== null) expect(dueMs).toBeLessThanOrEqual(nowMs + limits.ackMs);
        }
      }),
      { numRuns: runs(500) },
    );
  });

  it("OUTBOX-4, OUTBOX-5: an unacknowledged item is resent, a reply then flushed, at once if there is no connection", () => {
    const outbox = new Outbox(limits);
    const item = { key: "k", requestId: "r", kind: "reply", bytes: 1 } as const;
    expect(outbox.add(item, 0)).toEqual([]);
    expect(outbox.due(999, false)).toEqual([]);
    expect(outbox.linkUp(999).map((action) => action.do)).toEqual(["SEND"]);
    for (let send = 2; send <= MAX_SENDS; send += 1) {
      expect(outbox.due(999 + (send - 1) * 1000, false).map((action) => action.do)).toEqual(["SEND"]);
    }
    expect(outbox.due(10_000, false).map((action) => action.do)).toEqual(["FLUSH"]);
    outbox.linkDown(10_000);
    expect(outbox.due(11_000, false)).toEqual([]);
    outbox.flushFailed("k", 11_000);
    expect(outbox.due(11_500, true)).toEqual([]);
    expect(outbox.due(12_000, true).map((action) => action.do)).toEqual(["FLUSH"]);
    const hurried = new Outbox(limits);
    hurried.add(item, 0);
    expect(hurried.due(1, true).map((action) => action.do)).toEqual(["FLUSH"]);
  });

  it("OUTBOX-9: of 200 results of 1 MB a gateway has no more than is bounded, and gets all of them in their order", () => {
    const MB = 1024 * 1024;
    const outbox = new Outbox({ maxCount: 1_000, maxBytes: 256 * MB, ackMs: 1_000, maxSentBytes: MAX_SENT_BYTES });
    outbox.linkUp(0);
    const atGateway: string[] = [];
    const all: string[] = [];
    const arrive = (actions: ReturnType<Outbox["next"]>): void => {
      for (const { do: what, item } of actions) if (what === "SEND") atGateway.push(item.key);
      expect(atGateway.length * MB).toBeLessThanOrEqual(MAX_SENT_BYTES);
    };
    for (let at = 0; at < 200; at += 1) {
      all.push(`k${at}`);
      arrive(outbox.add({ key: `k${at}`, requestId: "r", kind: "checkpoint", bytes: MB }, 0));
    }
    const stored: string[] = [];
    for (let key = atGateway.shift(); key !== undefined; key = atGateway.shift()) {
      stored.push(key);
      outbox.settle(key);
      arrive(outbox.next(0));
    }
    expect(stored).toEqual(all);
    expect(outbox).toMatchObject({ count: 0, bytes: 0, sentBytes: 0 });
  });

  it("OUTBOX-9: what waits for room is not sent when it is due, nor flushed while there is a link", () => {
    const outbox = new Outbox(limits);
    outbox.linkUp(0);
    const add = (key: string, bytes: number) => outbox.add({ key, requestId: key, kind: "reply", bytes }, 0);
    expect(add("large", 60)).toHaveLength(1);
    expect(add("waits", 60)).toEqual([]);
    expect(outbox.due(1_000, false).map(({ do: what, item }) => `${what} ${item.key}`)).toEqual(["SEND large"]);
    outbox.linkDown(1_500);
    expect(outbox.due(2_500, false).map(({ item }) => item.key)).toEqual(["large", "waits"]);
  });

  it("OUTBOX-8: flushAll flushes each reply once, whether it was just sent, waits for a link or follows a failed flush", () => {
    const outbox = new Outbox(limits);
    const add = (key: string, kind: "reply" | "checkpoint", nowMs: number) =>
      outbox.add({ key, requestId: key, kind, bytes: 1 }, nowMs);
    add("failed", "reply", 0);
    add("under way", "reply", 0);
    expect(outbox.due(1_000, true).map(({ item }) => item.key)).toEqual(["failed", "under way"]);
    outbox.flushFailed("failed", 1_000);
    add("queued", "reply", 1_000);
    outbox.linkUp(1_001);
    add("just sent", "reply", 1_002);
    add("checkpoint", "checkpoint", 1_002);
    expect(outbox.due(1_003, false), "nothing is due").toEqual([]);
    const flushed = outbox.flushAll(1_003);
    expect(flushed.map(({ do: what, item }) => `${what} ${item.key}`).sort()).toEqual([
      "FLUSH failed",
      "FLUSH just sent",
      "FLUSH queued",
    ]);
    expect(outbox.flushAll(1_003), "all are under way").toEqual([]);
  });
});

describe("Respawn machine", () => {
  const step = createRespawnStep({ maxCrashes: 3 });
  const event: fc.Arbitrary<RespawnEvent> = fc.oneof(
    fc.constantFrom<RespawnEvent>({ type: "BEGIN" }, { type: "BACKOFF_OVER" }, { type: "HURRY" }, { type: "STOP" }),
    fc.record({
      type: fc.constantFrom(
        "READY" as const,
        "NOT_READY" as const,
        "UPTIME" as const,
        "HUNG" as const,
        "EXITED" as const,
      ),
      generation: fc.integer({ min: 1, max: 6 }),
    }),
  );

  it("RESPAWN-1, RESPAWN-2, RESPAWN-4, RESPAWN-5, RESPAWN-7, RESPAWN-8: respawn rules hold for any sequence", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (sequence) => {
        let state: RespawnState = RESPAWN_START;
        let living: number | null = null;
        let stopped = false;
        let ends = 0;
        let terminated: number | null = null;
        for (const next of sequence) {
          const before: RespawnState = state;
          const [after, effects] = step(state, next);
          state = after;
          if ("generation" in next && next.generation !== living) {
            expect(after, "RESPAWN-7").toBe(before);
            expect(effects, "RESPAWN-7").toEqual([]);
          }
          if (next.type === "EXITED" && next.generation === living) {
            living = null;
            if (!stopped) expect(after.crashes, "RESPAWN-2").toBe(before.crashes + 1);
          }
          if (next.type === "STOP") stopped = true;
          for (const effect of effects) {
            if (effect.do === "SPAWN") {
              expect(living, "RESPAWN-1").toBeNull();
              expect(stopped, "RESPAWN-5").toBe(false);
              living = effect.generation;
            }
            if (effect.do === "TERMINATE") {
              expect(terminated, "RESPAWN-8").not.toBe(living);
              terminated = living;
            }
            if (effect.do === "FAIL" || effect.do === "STOPPED") ends += 1;
          }
          expect(ends, "R4, R5").toBeLessThanOrEqual(1);
          if (after.crashes > 3) expect(after.phase, "RESPAWN-4").toBe("failed");
        }
      }),
      { numRuns: runs(500) },
    );
  });

  it("RESPAWN-3: the failure count is reset by a stable connection, not by a mere start", () => {
    const play = (...events: RespawnEvent[]): RespawnState =>
      events.reduce<RespawnState>((state, next) => step(state, next)[0], RESPAWN_START);
    const crash: RespawnEvent[] = [{ type: "BEGIN" }, { type: "EXITED", generation: 1 }, { type: "BACKOFF_OVER" }];
    expect(play(...crash, { type: "READY", generation: 2 }).crashes).toBe(1);
    expect(play(...crash, { type: "READY", generation: 2 }, { type: "UPTIME", generation: 2 }).crashes).toBe(0);
  });

  it("RESPAWN-6: HURRY spawns a thread at once and keeps the failure count", () => {
    const [waiting] = step(
      { phase: "up", crashes: 0, generation: 1, stopping: false, hung: false },
      { type: "EXITED", generation: 1 },
    );
    const [state, effects] = step(waiting, { type: "HURRY" });
    expect(effects.map((effect) => effect.do)).toEqual(["CANCEL_WAIT", "SPAWN"]);
    expect(state.crashes).toBe(1);
  });
});

describe("Small parts", () => {
  it("an implausible interval is replaced by the fallback", () => {
    expect(parseIntervalMs("10s", 1)).toBe(10_000);
    expect(parseIntervalMs("1m0s", 1)).toBe(60_000);
    for (const text of ["", "0s", "1ms", "soon", "-5s"]) expect(parseIntervalMs(text, 7_000)).toBe(7_000);
  });

  it("the list of recent ids drops the oldest", () => {
    const ids = new RecentIds(2);
    for (const id of ["a", "b", "a", "c"]) ids.add(id);
    expect([ids.has("a"), ids.has("b"), ids.has("c")]).toEqual([true, false, true]);
  });
});
