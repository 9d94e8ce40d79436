import { runInNewContext } from "node:vm";
import { HoldfastError } from "@holdfast/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../tooling/src/runs.ts";
import {
  type AppConfiguration,
  allocateRoomy,
  allocateSharable,
  decodeFlushResponse,
  decodeGatewayFrame,
  decodeSdkResponse,
  decodeStartRequest,
  decodeStartResponse,
  decodeWorkerFrame,
  EXTENSIONS,
  encodeFlushResponse,
  encodeGatewayFrame,
  encodeSdkResponse,
  encodeStartRequest,
  encodeStartResponse,
  encodeWorkerFrame,
  type GatewayFrame,
  type NackReason,
  WIRE_LIMITS,
  type WorkerFrame,
  wrapReply,
} from "../src/index.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const unhex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"));
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

const identity = {
  requestId: "01JZ0000000000000000000001",
  accountId: "acc",
  envId: "env",
  appId: "app",
  functionSlug: "my-app-hello",
  stepId: "step",
  systemTraceCtx: utf8("{}"),
  userTraceCtx: utf8("{}"),
  runId: "01JZ0000000000000000000002",
};

const response = {
  requestId: identity.requestId,
  accountId: "acc",
  envId: "env",
  appId: "app",
  sdkVersion: "inngest-js:v4.24.0",
  requestVersion: 2,
  systemTraceCtx: utf8("{}"),
  userTraceCtx: utf8("{}"),
  runId: identity.runId,
} as const;

/** Texts are compared with those that were read before, each where its length and its outer bytes say. */
test("texts that are alike but for one character are read as what they are, again and again", () => {
  const unit = fc.constantFrom("a", "b", "1", "é", "\u0000", "\u007f", "\u0080", "ÿ", "€", "😀");
  const text = fc.string({ unit, maxLength: 70 });
  const place = fc.record({ before: text, after: text, length: fc.nat({ max: 3 }) });
  fc.assert(
    fc.property(place, fc.array(unit, { minLength: 1, maxLength: 20 }), ({ before, after, length }, middles) => {
      for (const middle of middles) {
        const requestId = `${before}${middle.repeat(length)}${after}`;
        const read = decodeGatewayFrame(encodeGatewayFrame({ kind: "WORKER_REPLY_ACK", requestId }));
        expect(read).toEqual({ kind: "WORKER_REPLY_ACK", requestId });
      }
    }),
    { numRuns: runs(300) },
  );
});

test("bytes that are no text are not taken for one that has the same characters", () => {
  const ack = (text: Uint8Array): Uint8Array =>
    new Uint8Array([0x08, 5, 0x12, text.length + 2, 0x0a, text.length, ...text]);
  const kind = decodeGatewayFrame(encodeGatewayFrame({ kind: "WORKER_REPLY_ACK", requestId: "x" })).kind;
  const number = encodeGatewayFrame({ kind: "WORKER_REPLY_ACK", requestId: "x" })[1] ?? 0;
  const read = (text: Uint8Array): unknown => {
    const bytes = ack(text);
    bytes[1] = number;
    return decodeGatewayFrame(bytes);
  };
  expect(read(utf8("aé"))).toEqual({ kind, requestId: "aé" });
  expect(read(new Uint8Array([0x61, 0xe9, 0x7a]))).toEqual({ kind, requestId: "a\ufffdz" });
  expect(read(new Uint8Array([0x61, 0xe9, 0x7a]))).toEqual({ kind, requestId: "a\ufffdz" });
  expect(read(utf8("aé"))).toEqual({ kind, requestId: "aé" });
});

/** Bytes produced by the published reference package for the same messages. */
test("the decoder reads a Uint8Array of another context", () => {
  const bytes = encodeWorkerFrame({ kind: "WORKER_HEARTBEAT" });
  const foreign: Uint8Array = runInNewContext("Uint8Array.from([0, ...bytes]).subarray(1)", { bytes: [...bytes] });
  expect(foreign instanceof Uint8Array).toBe(false);
  expect(decodeWorkerFrame(foreign)).toEqual(decodeWorkerFrame(bytes));
});

describe("Vectors of the reference implementation", () => {
  test.each<[string, GatewayFrame, string]>([
    ["hello", { kind: "GATEWAY_HELLO" }, ""],
    ["heartbeat", { kind: "GATEWAY_HEARTBEAT" }, "080a"],
    ["closing", { kind: "GATEWAY_CLOSING" }, "080b"],
    [
      "ready",
      {
        kind: "GATEWAY_CONNECTION_READY",
        heartbeatInterval: "10s",
        extendLeaseInterval: "30s",
        statusInterval: "0s",
        extensions: [],
      },
      "0802120e0a0331307312033330731a023073",
    ],
    [
      "reply ack",
      { kind: "WORKER_REPLY_ACK", requestId: identity.requestId },
      "0807121c0a1a30314a5a30303030303030303030303030303030303030303031",
    ],
    [
      "lease extended",
      { kind: "WORKER_REQUEST_EXTEND_LEASE_ACK", ...identity, newLeaseId: "01JZ0000000000000000000004" },
      "080d12550a1a30314a5a3030303030303030303030303030303030303030303112036163631a03656e7622036170702a0c6d792d6170702d68656c6c6f321a30314a5a30303030303030303030303030303030303030303034",
    ],
    [
      "lease lost",
      { kind: "WORKER_REQUEST_EXTEND_LEASE_ACK", ...identity },
      "080d12390a1a30314a5a3030303030303030303030303030303030303030303112036163631a03656e7622036170702a0c6d792d6170702d68656c6c6f",
    ],
  ])("the gateway frame %s has the reference's bytes", (_, frame, bytes) => {
    expect(hex(encodeGatewayFrame(frame))).toBe(bytes);
    expect(decodeGatewayFrame(unhex(bytes)).kind).toBe(frame.kind);
  });

  test.each<[string, WorkerFrame, string]>([
    ["ready", { kind: "WORKER_READY" }, "0804"],
    ["pause", { kind: "WORKER_PAUSE" }, "0808"],
    ["heartbeat", { kind: "WORKER_HEARTBEAT" }, "0809"],
    [
      "status",
      { kind: "WORKER_STATUS", inFlightRequestIds: [identity.requestId], shutdownRequested: true },
      "080f121e0a1a30314a5a303030303030303030303030303030303030303030311001",
    ],
    [
      "request ack",
      { kind: "WORKER_REQUEST_ACK", ...identity },
      "080512630a1a30314a5a3030303030303030303030303030303030303030303112036163631a03656e7622036170702a0c6d792d6170702d68656c6c6f3204737465703a027b7d42027b7d4a1a30314a5a30303030303030303030303030303030303030303032",
    ],
    [
      "extend lease",
      { kind: "WORKER_REQUEST_EXTEND_LEASE", ...identity, leaseId: "01JZ0000000000000000000003" },
      "080c127f0a1a30314a5a3030303030303030303030303030303030303030303112036163631a03656e7622036170702a0c6d792d6170702d68656c6c6f3204737465703a027b7d42027b7d4a1a30314a5a30303030303030303030303030303030303030303032521a30314a5a30303030303030303030303030303030303030303033",
    ],
  ])("the worker frame %s has the reference's bytes", (_, frame, bytes) => {
    expect(hex(encodeWorkerFrame(frame))).toBe(bytes);
    expect(decodeWorkerFrame(unhex(bytes))).toEqual(frame);
  });

  test("an executor request has the reference's bytes", () => {
    const payload =
      "0a1a30314a5a3030303030303030303030303030303030303030303112036163631a03656e7622036170702a066d792d6170703202666e3a0c6d792d6170702d68656c6c6f4204737465704a027b7d52027b7d5a027b7d621a30314a5a303030303030303030303030303030303030303030326a1a30314a5a3030303030303030303030303030303030303030303372026a31";
    const frame: GatewayFrame = {
      kind: "GATEWAY_EXECUTOR_REQUEST",
      ...identity,
      appName: "my-app",
      functionId: "fn",
      requestPayload: utf8("{}"),
      leaseId: "01JZ0000000000000000000003",
      jobId: "j1",
    };
    const encoded = encodeGatewayFrame(frame);
    expect(hex(encoded).endsWith(payload)).toBe(true);
    expect(decodeGatewayFrame(encoded)).toEqual(frame);
  });

  test("replies have the reference's bytes", () => {
    const done = encodeSdkResponse({ ...response, status: "DONE", body: utf8("null"), noRetry: false });
    expect(hex(done)).toBe(
      "0a1a30314a5a3030303030303030303030303030303030303030303112036163631a03656e762203617070280132046e756c6c4a12696e6e676573742d6a733a76342e32342e3050025a027b7d62027b7d6a1a30314a5a30303030303030303030303030303030303030303032",
    );
    const failed = { ...response, status: "ERROR", body: utf8("{}"), noRetry: true, retryAfter: "90" } as const;
    expect(hex(encodeSdkResponse(failed))).toBe(
      "0a1a30314a5a3030303030303030303030303030303030303030303112036163631a03656e762203617070280232027b7d3801420239304a12696e6e676573742d6a733a76342e32342e3050025a027b7d62027b7d6a1a30314a5a30303030303030303030303030303030303030303032",
    );
    expect(decodeSdkResponse(encodeSdkResponse(failed))).toEqual(failed);
    expect(decodeWorkerFrame(wrapReply(done))).toMatchObject({ kind: "WORKER_REPLY", status: "DONE" });
  });

  test("a reply whose body has room around it is the same bytes, where the body is", () => {
    const lengths = fc.constantFrom(65_535, 65_536, 65_537, 70_001, 2 * 1024 * 1024, 2 * 1024 * 1024 + 5);
    const ids = fc.constantFrom("", "acc", "a".repeat(127), "a".repeat(500), "é".repeat(900));
    fc.assert(
      fc.property(lengths, ids, ids, (length, accountId, sdkVersion) => {
        const fields = { ...response, accountId, sdkVersion, status: "NOT_COMPLETED", noRetry: false } as const;
        const body = allocateRoomy(length).fill(0x61);
        const copied = encodeSdkResponse({ ...fields, body: body.slice() });
        const inPlace = encodeSdkResponse({ ...fields, body }, allocateSharable);
        expect(Buffer.compare(inPlace, copied)).toBe(0);
        const isShort = length >= 65_536 && accountId.length < 900 && sdkVersion.length < 900;
        expect(inPlace.buffer === body.buffer).toBe(isShort);
        // As another thread has it.
        const posted = structuredClone(inPlace);
        const frame = wrapReply(posted);
        expect(Buffer.compare(frame, wrapReply(copied))).toBe(0);
        expect(frame.buffer === posted.buffer).toBe(isShort);
        // Its room is taken, if there was any.
        const again = encodeSdkResponse({ ...fields, accountId: "another", body });
        if (isShort) expect(again.buffer).not.toBe(body.buffer);
        expect(Buffer.compare(inPlace, copied)).toBe(0);
        expect(Buffer.compare(again, encodeSdkResponse({ ...fields, accountId: "another", body: body.slice() }))).toBe(
          0,
        );
      }),
      { numRuns: runs(40) },
    );
  });

  test("the payload of WORKER_CONNECT has the reference's bytes", () => {
    const app: AppConfiguration = { appName: "my-app", functions: utf8("[]") };
    const frame: WorkerFrame = {
      kind: "WORKER_CONNECT",
      connectionId: "01JZ0000000000000000000000",
      instanceId: "host-1",
      sessionToken: "s",
      syncToken: "y",
      capabilities: utf8('{"trust_probe":"v1","connect":"v1"}'),
      apps: [app],
      workerManualReadinessAck: true,
      cpuCores: 2,
      memBytes: 1024,
      os: "linux",
      framework: "connect",
      sdkVersion: "v4.24.0",
      sdkLanguage: "typescript",
      startedAtMs: 1700000000123,
      maxWorkerConcurrency: 7,
    };
    const payload =
      "0a1a30314a5a303030303030303030303030303030303030303030301206686f73742d311a060a017312017922237b2274727573745f70726f6265223a227631222c22636f6e6e656374223a227631227d2a0c0a066d792d61707022025b5d30013a0c08021080081a056c696e75784a07636f6e6e6563745a0776342e32342e30620a747970657363726970746a0b0880e2cfaa0610c0a9d33a7007";
    const encoded = encodeWorkerFrame(frame);
    expect(hex(encoded).endsWith(payload)).toBe(true);
    expect(decodeWorkerFrame(encoded)).toEqual(frame);
  });

  test("the bodies of start and flush calls have the reference's bytes", () => {
    const start = encodeStartRequest({ excludeGateways: ["gw-a", "gw-b"] });
    expect(hex(start)).toBe("0a0467772d610a0467772d62");
    expect(decodeStartRequest(start)).toEqual({ excludeGateways: ["gw-a", "gw-b"] });
    const answer = {
      connectionId: "01JZ0000000000000000000000",
      gatewayEndpoint: "ws://localhost:8289/v0/connect",
      gatewayGroup: "gw-dev",
      sessionToken: "s",
      syncToken: "y",
    };
    expect(hex(encodeStartResponse(answer))).toBe(
      "0a1a30314a5a30303030303030303030303030303030303030303030121e77733a2f2f6c6f63616c686f73743a383238392f76302f636f6e6e6563741a0667772d6465762201732a0179",
    );
    expect(decodeStartResponse(encodeStartResponse(answer))).toEqual(answer);
    const flush = encodeFlushResponse({ requestId: identity.requestId });
    expect(hex(flush)).toBe("0a1a30314a5a30303030303030303030303030303030303030303031");
    expect(decodeFlushResponse(flush)).toEqual({ requestId: identity.requestId });
  });
});

/** Kinds whose bytes are compared with the reference's above. Every other one needs a row below, or does not compile. */
type WorkerKindOfReference =
  | "WORKER_CONNECT"
  | "WORKER_READY"
  | "WORKER_REQUEST_ACK"
  | "WORKER_REPLY"
  | "WORKER_PAUSE"
  | "WORKER_HEARTBEAT"
  | "WORKER_REQUEST_EXTEND_LEASE"
  | "WORKER_STATUS";
type GatewayKindOfReference =
  | "GATEWAY_HELLO"
  | "GATEWAY_HEARTBEAT"
  | "GATEWAY_CLOSING"
  | "GATEWAY_EXECUTOR_REQUEST"
  | "WORKER_REPLY_ACK"
  | "WORKER_REQUEST_EXTEND_LEASE_ACK";

const absent = { nil: undefined };

type RoundTrips<Frame extends { readonly kind: string }, Reference extends Frame["kind"]> = {
  readonly [Kind in Exclude<Frame["kind"], Reference>]: readonly Extract<Frame, { readonly kind: Kind }>[];
};

const fullState = {
  kind: "WORKER_STATE",
  phase: "ACTIVE",
  mainLagMs: 1_200,
  roundTripMs: 3,
  unansweredHeartbeats: 1,
  inFlight: 2,
  requests: [{ requestId: "r", runId: "run", functionSlug: "f", replied: true, ageMs: 5, leaseAgeMs: 4 }],
  outboxCount: 1,
  outboxBytes: 5_000_000_000,
  outboxFull: true,
  reconnectAttempts: 2,
  crashes: 1,
  lastErrorCode: "CODE",
  lastError: "why",
  stalls: 3,
  stallsUnseen: true,
  logsDropped: 4,
  pool: { threads: 3, busy: 2, queued: 1, oldestMs: 70, overruns: 4, crashes: 5, recycled: 6, abandoned: 7 },
  process: { pid: 12, rssBytes: 90_000_000_000, cpuMs: 1_000, uptimeMs: 2_000 },
  transitions: [{ atMs: 1_700_000_000_000, event: "FRAME", from: "open", to: "open" }],
} as const satisfies WorkerFrame;

describe("Protocol extensions", () => {
  const fromWorker: RoundTrips<WorkerFrame, WorkerKindOfReference> = {
    WORKER_CHECKPOINT: [
      {
        kind: "WORKER_CHECKPOINT",
        requestId: "r",
        runId: "run",
        leaseId: "l",
        sequence: 3,
        ops: utf8('[{"id":"x","op":"StepRun"}]'),
      },
    ],
    WORKER_REQUEST_NACK: (["UNKNOWN_APP", "DRAIN_TIMEOUT", "STALLED"] satisfies NackReason[]).map(
      (reason) =>
        ({ kind: "WORKER_REQUEST_NACK", requestId: "r", runId: "run", leaseId: "l", reason, message: "why" }) as const,
    ),
    WORKER_STALL: [
      {
        kind: "WORKER_STALL",
        requestId: "r",
        runId: "run",
        functionSlug: "f",
        stepId: "s",
        stalledMs: 1234,
        stack: "at x",
        ended: false,
        location: "x.ts:1:2",
        codeName: "x",
        sequence: 7,
        suppressed: 2,
        waiting: 3,
        leasesGivenUp: true,
        waitedMs: 200,
        noCpu: true,
      },
    ],
    WORKER_STATE: [
      fullState,
      {
        ...fullState,
        phase: "RECONNECTING",
        roundTripMs: undefined,
        pool: undefined,
        requests: [],
        transitions: [],
        lastError: "",
      },
      { ...fullState, pool: { ...fullState.pool, threads: 0, oldestMs: 0 }, roundTripMs: 0 },
    ],
    WORKER_MAIN_PAUSE: [{ kind: "WORKER_MAIN_PAUSE" }],
    WORKER_MAIN_READY: [{ kind: "WORKER_MAIN_READY" }],
  };
  test.each(Object.values(fromWorker).flat())("the worker frame $kind survives a round trip", (frame) => {
    expect(decodeWorkerFrame(encodeWorkerFrame(frame))).toEqual(frame);
  });

  const fromGateway: RoundTrips<GatewayFrame, GatewayKindOfReference> = {
    GATEWAY_CHECKPOINT_ACK: [
      { kind: "GATEWAY_CHECKPOINT_ACK", requestId: "r", sequence: 3, outcome: "stored", message: "" },
      { kind: "GATEWAY_CHECKPOINT_ACK", requestId: "r", sequence: 4, outcome: "stale", message: "ended" },
      { kind: "GATEWAY_CHECKPOINT_ACK", requestId: "r", sequence: 4, outcome: "invalid", message: "too large" },
    ],
    GATEWAY_CANCEL: [{ kind: "GATEWAY_CANCEL", requestId: "r", reason: "cancelled by a user" }],
    GATEWAY_RESULTS: [
      { kind: "GATEWAY_RESULTS", requestId: "r", results: '[["h",{"type":"data","data":null}]]', offset: 2 },
    ],
    SYNC_FAILED: [{ kind: "SYNC_FAILED", code: "config_invalid", message: "no" }],
    GATEWAY_CONNECTION_READY: [
      {
        kind: "GATEWAY_CONNECTION_READY",
        heartbeatInterval: "5s",
        extendLeaseInterval: "5s",
        statusInterval: "0s",
        extensions: [...EXTENSIONS],
      },
    ],
  };
  test.each(Object.values(fromGateway).flat())("the gateway frame $kind survives a round trip", (frame) => {
    expect(decodeGatewayFrame(encodeGatewayFrame(frame))).toEqual(frame);
  });
});

describe("Hostile and unknown bytes", () => {
  test("an unknown frame kind is reported with its number", () => {
    expect(decodeGatewayFrame(unhex("08e807"))).toEqual({ kind: "UNKNOWN", number: 1000 });
    // A kind that only the other direction uses is unknown to this one.
    expect(decodeGatewayFrame(unhex("0804"))).toEqual({ kind: "UNKNOWN", number: 4 });
  });

  test("random bytes either decode or throw an error with a code", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        for (const decode of [decodeGatewayFrame, decodeWorkerFrame, decodeSdkResponse, decodeStartRequest]) {
          try {
            decode(bytes);
          } catch (error) {
            expect(HoldfastError.is(error)).toBe(true);
          }
        }
      }),
      { numRuns: runs(2000) },
    );
  });

  test("a frame over the size limit is rejected", () => {
    const big = new Uint8Array(WIRE_LIMITS.maxReadBytes + 1);
    expect(() => decodeWorkerFrame(big)).toThrowError(expect.objectContaining({ code: "FRAME_TOO_LARGE" }));
  });

  test("unknown fields are ignored", () => {
    const known = encodeWorkerFrame({ kind: "WORKER_READY" });
    const withMore = Uint8Array.from([...known, 0xfa, 0x3e, 3, 1, 2, 3]); // field 1007, length-delimited
    expect(decodeWorkerFrame(withMore)).toEqual({ kind: "WORKER_READY" });
  });
});

describe("The state of a worker", () => {
  test("whatever a worker says of itself, the gateway reads what was written", () => {
    const count = fc.nat(0xffff_ffff);
    const size = fc.nat(Number.MAX_SAFE_INTEGER);
    const text = fc.string({ maxLength: 30 });
    const ages = { ageMs: count, leaseAgeMs: count };
    const request = fc.record({ requestId: text, runId: text, functionSlug: text, replied: fc.boolean(), ...ages });
    const turns = { threads: count, busy: count, queued: count, overruns: count, crashes: count };
    const pool = fc.record({ ...turns, recycled: count, abandoned: count, oldestMs: fc.option(count, absent) });
    const state: fc.Arbitrary<WorkerFrame> = fc.record({
      kind: fc.constant("WORKER_STATE" as const),
      phase: fc.constantFrom("CONNECTING", "ACTIVE", "RECONNECTING", "CLOSING"),
      ...{ mainLagMs: count, unansweredHeartbeats: count, inFlight: count, outboxCount: count, outboxBytes: size },
      ...{ outboxFull: fc.boolean(), reconnectAttempts: count, crashes: count, lastErrorCode: text, lastError: text },
      ...{ stalls: count, stallsUnseen: fc.boolean(), logsDropped: count },
      roundTripMs: fc.option(count, absent),
      requests: fc.array(request, { maxLength: 5 }),
      pool: fc.option(pool, absent),
      process: fc.record({ pid: count, rssBytes: size, cpuMs: size, uptimeMs: size }),
      transitions: fc.array(fc.record({ atMs: size, event: text, from: text, to: text }), { maxLength: 5 }),
    });
    fc.assert(
      fc.property(state, (frame) => {
        expect(decodeWorkerFrame(encodeWorkerFrame(frame))).toEqual(frame);
      }),
      { numRuns: runs(500) },
    );
  });

  test("a state without a process, as an older worker might send it, is read with zeros", () => {
    const bytes = unhex("086b12020802"); // kind 107, phase 2
    expect(decodeWorkerFrame(bytes)).toMatchObject({
      kind: "WORKER_STATE",
      phase: "ACTIVE",
      process: { pid: 0, rssBytes: 0, cpuMs: 0, uptimeMs: 0 },
    });
  });

  test.each([
    ["an unknown phase", encodeWorkerFrame({ ...fullState, phase: "NONE" as "ACTIVE" })],
    ["no phase", unhex("086b")],
    ["more than may be read", encodeWorkerFrame({ ...fullState, lastError: "x".repeat(WIRE_LIMITS.maxStateBytes) })],
  ])("a state with %s cannot be read", (_, bytes) => {
    expect(() => decodeWorkerFrame(bytes)).toThrowError(expect.objectContaining({ code: "FRAME_INVALID" }));
  });
});

describe("Buffers", () => {
  test("encoded frames and decoded byte fields own exactly their bytes", () => {
    const frame = encodeWorkerFrame({
      kind: "WORKER_CHECKPOINT",
      requestId: "r",
      runId: "run",
      leaseId: "l",
      sequence: 1,
      ops: utf8("[]"),
    });
    expect(frame.buffer.byteLength).toBe(frame.byteLength);
    const decoded = decodeWorkerFrame(frame);
    if (decoded.kind !== "WORKER_CHECKPOINT") throw new Error("wrong kind");
    expect(decoded.ops.buffer.byteLength).toBe(2);
    expect(decoded.ops.buffer).not.toBe(frame.buffer);
  });
});

test("steps that have been running for a while go with an extension, and cost nothing where there are none", () => {
  const frame = { kind: "WORKER_REQUEST_EXTEND_LEASE", ...identity, leaseId: "l" } as const;
  const runningSteps = [
    { id: "charge the card", runningMs: 12_000 },
    { id: "mail", runningMs: 0 },
  ];
  expect(decodeWorkerFrame(encodeWorkerFrame({ ...frame, runningSteps }))).toEqual({ ...frame, runningSteps });
  expect(decodeWorkerFrame(encodeWorkerFrame(frame))).toEqual(frame);
});
