import type { Extension, UnknownFrame, WorkerFrame } from "@holdfast/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../packages/tooling/src/runs.ts";
import { delivers, initialSession, stepSession } from "../../src/ws/session-machine.ts";
import type { SessionEffect, SessionEvent, SessionLimits, SessionState } from "../../src/ws/session-types.ts";

const limits = { missedHeartbeats: 5, strict: false };

const hello: WorkerFrame = {
  kind: "WORKER_CONNECT",
  connectionId: "01JZ0000000000000000000000",
  instanceId: "i",
  sessionToken: "",
  syncToken: "",
  capabilities: new Uint8Array(),
  apps: [],
  workerManualReadinessAck: true,
  cpuCores: 1,
  memBytes: 1,
  os: "linux",
  framework: "connect",
  sdkVersion: "v1",
  sdkLanguage: "typescript",
  startedAtMs: 0,
};

const status: WorkerFrame = { kind: "WORKER_STATUS", inFlightRequestIds: [], shutdownRequested: false };
const frame = (of: WorkerFrame | UnknownFrame): SessionEvent => ({ type: "frame", frame: of });
const accepted = (manualReadiness = true, extensions: Extension[] = ["stall"]): SessionEvent => ({
  type: "accepted",
  accepted: {
    heartbeatInterval: "1s",
    extendLeaseInterval: "1s",
    statusInterval: "0s",
    extensions,
    manualReadiness,
  },
});

/** Runs events and keeps what came of them. */
class Run {
  state: SessionState = initialSession;
  readonly effects: SessionEffect[] = [];

  /** With `strict` first: of a plain gateway. */
  readonly #limits: SessionLimits;

  constructor(...events: readonly ("strict" | SessionEvent)[]) {
    this.#limits = { ...limits, strict: events[0] === "strict" };
    this.send({ type: "accept" }, ...events.filter((event) => event !== "strict"));
  }

  send(...events: readonly SessionEvent[]): readonly SessionEffect[] {
    let last: readonly SessionEffect[] = [];
    for (const event of events) {
      const [state, effects] = stepSession(this.#limits, this.state, event);
      this.state = state;
      this.effects.push(...effects);
      last = effects;
    }
    return last;
  }

  sent(): string[] {
    return this.effects.flatMap((effect) => (effect.do === "send" ? [effect.frame.kind] : []));
  }

  closed(): unknown {
    return this.effects.find((effect) => effect.do === "close" || effect.do === "terminate");
  }
}

const ready = (): Run => new Run(frame(hello), accepted(), frame({ kind: "WORKER_READY" }));

describe("Handshake", () => {
  test("the handshake is hello, connect, ready in this order (SESSION-1, SESSION-2, SESSION-3)", () => {
    const run = ready();
    expect(run.sent()).toEqual(["GATEWAY_HELLO", "GATEWAY_CONNECTION_READY"]);
    expect(run.state.phase).toBe("ready");
    expect(run.effects.at(-1)).toEqual({ do: "open" });
  });

  test("before readiness a worker gets no answer, and its reports are not delivered (SESSION-2, SESSION-6)", () => {
    const run = new Run(frame(hello), accepted());
    for (const early of [frame(status), frame({ kind: "WORKER_HEARTBEAT" }), frame(hello)]) {
      expect(run.send(early)).toEqual([{ do: "warn", message: expect.stringContaining("before WORKER_READY") }]);
      expect(run.state.phase).toBe("connected");
    }
  });

  test("a worker without manual readiness is ready at once", () => {
    const run = new Run(frame(hello), accepted(false));
    expect(run.state.phase).toBe("ready");
  });

  test("a worker that is shutting down pauses instead and is never offered work (SESSION-3)", () => {
    const run = new Run(frame(hello), accepted(), frame({ kind: "WORKER_PAUSE" }));
    expect(run.state.phase).toBe("draining");
    expect(run.effects.some((effect) => effect.do === "open")).toBe(false);
    run.send(frame(status));
    expect(run.effects.at(-1)).toMatchObject({ do: "deliver" });
  });

  test("without `stall` a pause is final: later readiness is ignored, everything else is served (SESSION-8)", () => {
    for (const announced of ["WORKER_READY", "WORKER_PAUSE"] as const) {
      const run = new Run(frame(hello), accepted(true, ["checkpoint"]), frame({ kind: announced }));
      run.send(frame({ kind: "WORKER_PAUSE" }));
      expect(run.send(frame({ kind: "WORKER_READY" }))).toMatchObject([
        { do: "warn", message: expect.stringContaining("not routable") },
      ]);
      expect(run.state.phase).toBe("draining");
      expect(run.send(frame({ kind: "WORKER_HEARTBEAT" }))).toMatchObject([{ do: "send" }]);
      expect(run.send(frame(status))).toMatchObject([{ do: "deliver" }]);
    }
  });

  test("with `stall` a paused worker may become ready again and is offered work anew (SESSION-3)", () => {
    const run = ready();
    expect(run.send(frame({ kind: "WORKER_PAUSE" }))).toEqual([{ do: "pause", said: true }]);
    expect(run.send(frame({ kind: "WORKER_READY" }))).toEqual([{ do: "open" }]);
    expect(run.state.phase).toBe("ready");
    expect(run.send(frame({ kind: "WORKER_READY" }))).toEqual([]);
  });

  test("a paused worker does not become ready again once the gateway is closing (SESSION-4)", () => {
    const run = ready();
    run.send({ type: "drain" });
    expect(run.send(frame({ kind: "WORKER_PAUSE" }), frame({ kind: "WORKER_READY" }))).toEqual([]);
    expect(run.state.phase).toBe("draining");
  });

  test.each([
    ["another first message", frame({ kind: "WORKER_READY" }), 1008, "connect_worker_hello_invalid_msg"],
    [
      "an unreadable first message",
      { type: "malformed", what: "payload" } as const,
      1008,
      "connect_worker_hello_invalid_payload",
    ],
    [
      "a place that others are to have",
      { type: "evicted", why: "crowded" } as const,
      1013,
      "connect_too_many_pending_connections",
    ],
    [
      "a greeting that costs too much",
      { type: "evicted", why: "too-large" } as const,
      1009,
      "connect_worker_hello_too_large",
    ],
    ["no envelope", { type: "malformed", what: "envelope" } as const, 1007, "connect_worker_frame_invalid"],
    ["silence", { type: "fired", timer: "hello" } as const, 1008, "connect_worker_hello_timeout"],
    ["a gateway that goes down", { type: "drain" } as const, 1001, "connect_gateway_closing"],
  ])("the handshake is ended by %s", (_, event, code, reason) => {
    const run = new Run(event);
    expect(run.closed()).toEqual({ do: "close", code, reason });
    expect(run.state.phase).toBe("closed");
  });

  test("a rejected worker gets the reason in SYNC_FAILED before the close", () => {
    const refusal = { code: "config_invalid", closeCode: 1008, syncMessage: "two functions" } as const;
    const run = new Run(frame(hello), { type: "refused", refusal });
    expect(run.effects.slice(-3)).toEqual([
      { do: "send", frame: { kind: "SYNC_FAILED", code: "config_invalid", message: "two functions" } },
      { do: "close", code: 1008, reason: "config_invalid" },
      { do: "gone", how: "broken" },
    ]);
  });

  test("the handshake ends when readiness never comes (SESSION-9)", () => {
    const run = new Run(frame(hello), accepted(), { type: "fired", timer: "readiness" });
    expect(run.closed()).toMatchObject({ do: "close", code: 1008 });
  });
});

describe("Established session", () => {
  test("heartbeats are answered, also while draining (SESSION-5)", () => {
    const run = ready();
    expect(run.send(frame({ kind: "WORKER_HEARTBEAT" }))).toEqual([
      { do: "send", frame: { kind: "GATEWAY_HEARTBEAT" } },
    ]);
    run.send(frame({ kind: "WORKER_PAUSE" }));
    expect(run.send(frame({ kind: "WORKER_HEARTBEAT" }))).toEqual([
      { do: "send", frame: { kind: "GATEWAY_HEARTBEAT" } },
    ]);
  });

  test("a session is dropped without a close frame after five silent intervals (SESSION-9, SESSION-10)", () => {
    const run = ready();
    for (let beats = 0; beats < 3; beats += 1) {
      run.send(frame({ kind: "WORKER_HEARTBEAT" }));
      for (let intervals = 0; intervals < 5; intervals += 1) {
        expect(run.send({ type: "fired", timer: "silence" })).toEqual([{ do: "arm", timer: "silence" }]);
      }
    }
    run.send({ type: "fired", timer: "silence" });
    expect(run.closed()).toEqual({ do: "terminate" });
  });

  test("GATEWAY_CLOSING is sent once, and the socket is closed at the end of the drain (SESSION-4)", () => {
    const run = ready();
    run.send({ type: "drain" }, { type: "drain" });
    expect(run.sent().filter((kind) => kind === "GATEWAY_CLOSING").length).toBe(1);
    run.send({ type: "fired", timer: "drain" });
    expect(run.closed()).toEqual({ do: "close", code: 1001, reason: "connect_gateway_closing" });
  });

  test("unknown and unexpected frames are ignored", () => {
    const run = ready();
    run.send(frame({ kind: "UNKNOWN", number: 77 }), frame(hello), { type: "malformed", what: "payload" });
    expect(run.state.phase).toBe("ready");
  });
});

describe("Plain gateway", () => {
  const established = (): Run => new Run("strict", frame(hello), accepted(true, []), frame({ kind: "WORKER_READY" }));
  const extension = {
    kind: "WORKER_REQUEST_EXTEND_LEASE",
    stepId: "step",
    requestId: "r",
    accountId: "",
    envId: "",
    appId: "",
    functionSlug: "f",
    systemTraceCtx: new Uint8Array(),
    userTraceCtx: new Uint8Array(),
    runId: "",
    leaseId: "01JZ0000000000000000000000",
  } as const;

  test.each([
    [5, 1008, "connect_worker_request_ack_invalid_payload"],
    [12, 1008, "connect_worker_request_extend_lease_invalid_payload"],
    [6, 1011, "connect_internal_error"],
  ])("a plain gateway ends a connection whose payload of kind %d cannot be read (SESSION-11)", (kind, code, reason) => {
    const run = established();
    run.send({ type: "malformed", what: "payload", kind });
    expect(run.closed()).toEqual({ do: "close", code, reason });
    const kept = ready();
    kept.send({ type: "malformed", what: "payload", kind });
    expect(kept.state.phase, "on other gateways one bad message costs nothing but itself").toBe("ready");
  });

  test("a plain gateway ends a connection that sends a lease id other than a ULID (SESSION-11)", () => {
    const run = established();
    expect(run.send(frame(extension))).toEqual([{ do: "deliver", frame: extension }]);
    run.send(frame({ ...extension, leaseId: "lease" }));
    expect(run.closed()).toMatchObject({ code: 1008, reason: "connect_worker_request_extend_lease_invalid_payload" });
  });

  test("a plain gateway ends a connection that becomes ready during a drain (SESSION-11)", () => {
    const run = established();
    run.send({ type: "drain" }, frame({ kind: "WORKER_READY" }));
    expect(run.closed()).toEqual({ do: "close", code: 1001, reason: "connect_gateway_closing" });
  });

  test("a plain gateway drops a connection that never becomes ready, without a close frame (SESSION-11)", () => {
    const run = new Run("strict", frame(hello), accepted(true, []), { type: "fired", timer: "readiness" });
    expect(run.closed()).toEqual({ do: "terminate" });
  });
});

test.each([
  ["registering", new Run(frame(hello))],
  ["connected", new Run(frame(hello), accepted())],
  ["ready", ready()],
])("too many unreadable frames end a connection that is %s (SESSION-12)", (_, run) => {
  expect(run.send({ type: "malformed", what: "payload" })).toEqual([]);
  run.send({ type: "malformed", what: "payload-again" });
  expect(run.closed()).toEqual({ do: "close", code: 1008, reason: "connect_worker_too_many_invalid_frames" });
});

test("an accepted worker is no longer evicted (SESSION-13)", () => {
  const run = ready();
  expect(run.send({ type: "evicted", why: "crowded" }, { type: "evicted", why: "too-large" })).toEqual([]);
  expect(run.state.phase).toBe("ready");
});

const anyEvent: fc.Arbitrary<SessionEvent> = fc.oneof(
  fc.constantFrom<SessionEvent>(
    { type: "accept" },
    { type: "drain" },
    { type: "socket-closed", how: "broken" },
    { type: "socket-closed", how: "shutdown" },
    { type: "malformed", what: "payload" },
    { type: "malformed", what: "payload", kind: 6 },
    { type: "malformed", what: "payload-again" },
    { type: "evicted", why: "crowded" },
    { type: "refused", refusal: { code: "x", closeCode: 1008 } },
    accepted(true),
    accepted(false),
    accepted(true, []),
    accepted(false, []),
    frame(hello),
    frame(status),
    frame({ kind: "UNKNOWN", number: 99 }),
  ),
  fc.constantFrom("WORKER_READY", "WORKER_PAUSE", "WORKER_HEARTBEAT").map((kind) => frame({ kind } as WorkerFrame)),
  fc.record({
    type: fc.constant("fired" as const),
    timer: fc.constantFrom("hello", "readiness", "silence", "drain" as const),
  }),
);

/** Random events alone seldom get far: a session starts at any of its phases. */
const beginning: fc.Arbitrary<readonly SessionEvent[]> = fc.oneof(
  fc.constantFrom<readonly SessionEvent[]>([], [frame(hello)]),
  fc.constantFrom(accepted(true), accepted(true, [])).map((agreed) => [frame(hello), agreed]),
  fc
    .tuple(
      fc.constantFrom(accepted(true), accepted(true, []), accepted(false), accepted(false, [])),
      fc.constantFrom<readonly SessionEvent[]>(
        [frame({ kind: "WORKER_READY" })],
        [frame({ kind: "WORKER_PAUSE" })],
        [frame({ kind: "WORKER_READY" }), frame({ kind: "WORKER_PAUSE" })],
      ),
    )
    .map(([agreed, readiness]) => [frame(hello), agreed, ...readiness]),
);

const ORDER = ["hello", "registering", "connected", "ready", "draining", "closed"];

test("SESSION-1 to SESSION-8 hold for random events", () => {
  fc.assert(
    fc.property(beginning, fc.array(anyEvent, { maxLength: 40 }), fc.boolean(), (first, events, strict) => {
      const run = strict ? new Run("strict") : new Run();
      let hasPaused = false;
      for (const event of [...first, ...events].filter(({ type }) => type !== "accept")) {
        const before = run.state;
        const effects = run.send(event);
        const isEstablished = before.phase === "ready" || before.phase === "draining";
        const mayResume = before.phase === "draining" && !before.closingSent && before.mayResume;
        const back = mayResume && run.state.phase === "ready";
        if (!back) expect(ORDER.indexOf(run.state.phase)).toBeGreaterThanOrEqual(ORDER.indexOf(before.phase));
        if (before.phase === "closed") expect(effects, "SESSION-7").toEqual([]);
        if (before.phase === "connected") {
          expect(
            effects.filter((effect) => effect.do === "send"),
            "SESSION-2",
          ).toEqual([]);
        }
        for (const effect of effects) {
          if (effect.do === "deliver") expect(isEstablished, "SESSION-6").toBe(true);
          if (effect.do === "open" && hasPaused) expect(back, "SESSION-8").toBe(true);
          if (effect.do !== "send") continue;
          if (effect.frame.kind === "GATEWAY_CLOSING") expect(isEstablished, "SESSION-4").toBe(true);
          if (effect.frame.kind === "GATEWAY_HEARTBEAT") expect(isEstablished, "SESSION-5").toBe(true);
        }
        if (event.type !== "frame") continue;
        if (event.frame.kind === "WORKER_HEARTBEAT" && isEstablished)
          expect(run.sent().at(-1)).toBe("GATEWAY_HEARTBEAT");
        if (event.frame.kind === "WORKER_STATUS") {
          expect(
            effects.some((effect) => effect.do === "deliver"),
            "SESSION-6",
          ).toBe(isEstablished);
          expect(delivers(before, event.frame), "SESSION-6").toBe(isEstablished);
        }
        hasPaused ||= run.state.phase === "draining";
      }
      const sent = run.sent();
      expect(sent[0]).toBe("GATEWAY_HELLO");
      for (const kind of ["GATEWAY_HELLO", "GATEWAY_CONNECTION_READY", "GATEWAY_CLOSING"]) {
        expect(sent.filter((one) => one === kind).length, "SESSION-1, SESSION-4").toBeLessThanOrEqual(1);
      }
      const steps = run.effects.map((effect) => effect.do).filter((name) => ["open", "pause", "gone"].includes(name));
      expect(steps.join(" "), "SESSION-3").toMatch(/^(open pause ?)*(open)?(gone)?$/);
      expect(steps.includes("gone"), "SESSION-7").toBe(run.state.phase === "closed");
    }),
    { numRuns: runs(3000) },
  );
});
