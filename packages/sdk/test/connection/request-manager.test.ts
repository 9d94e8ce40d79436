import { silentLog } from "@holdfast/core";
import {
  type ConnectionReady,
  decodeWorkerFrame,
  type ExecutorRequest,
  type UnknownFrame,
  type WorkerFrame,
} from "@holdfast/protocol";
import { fakeClock } from "@holdfast/testing";
import { expect, it } from "vitest";
import type { ThreadMessage } from "../../src/connection/shared/messages.ts";
import type { SerializableConfig } from "../../src/connection/shared/serializable-config.ts";
import { InFlightRequests } from "../../src/connection/thread/in-flight-requests.ts";
import { RequestManager } from "../../src/connection/thread/request-manager.ts";
import type { RequestEffect } from "../../src/connection/thread/thread-effect.ts";

const READY = {
  extendLeaseInterval: "30s",
  statusInterval: "0s",
  extensions: ["checkpoint", "nack", "cancel"],
} as unknown as ConnectionReady;
const FAILED = { type: "EXECUTION_ERROR", requestId: "r", error: { name: "Error", message: "no" } } as const;
const NO_BYTES = new Uint8Array(0);

const request = (requestId: string): ExecutorRequest =>
  ({
    kind: "GATEWAY_EXECUTOR_REQUEST",
    ...{ requestId, runId: `run of ${requestId}`, leaseId: `lease of ${requestId}` },
    ...{ appName: "shop", functionSlug: "shop-order", accountId: "a", envId: "e", appId: "i" },
    ...{
      functionId: "f",
      jobId: "j",
      systemTraceCtx: NO_BYTES,
      userTraceCtx: NO_BYTES,
      requestPayload: new Uint8Array([1]),
    },
  }) as ExecutorRequest;

/** Requests of a connection that is ready; no socket, no main: what leaves is kept, in order. */
function bench() {
  const clock = fakeClock();
  const happened: string[] = [];
  const posted: ThreadMessage[] = [];
  const effects: RequestEffect[] = [];
  const port = {
    post: (message: ThreadMessage): void => {
      posted.push(message);
      happened.push(`main: ${message.type}`);
    },
  };
  const config = {
    apps: [{ appName: "shop" }],
    extensions: ["checkpoint", "nack", "cancel"],
    maxWorkerConcurrency: 1,
    sdkVersion: "holdfast-js:test",
    outbox: { maxCount: 100, maxBytes: 1_000_000, ackMs: 5_000, flushMs: 2_000 },
  } as unknown as SerializableConfig;
  const manager = new RequestManager(
    {
      ...{ clock, timers: clock, log: silentLog, config, port, coalescing: port, epoch: 1 },
      inFlight: new InFlightRequests(clock, 1),
      http: { flush: async () => ({ ok: true }) },
      counters: { setEpoch: () => {}, addRevocation: () => {} },
    } as unknown as ConstructorParameters<typeof RequestManager>[0],
    (effect) => {
      effects.push(effect);
      happened.push(effect.do === "SEND" ? `gateway: ${decodeWorkerFrame(effect.bytes).kind}` : effect.do);
    },
  );
  manager.onLinkUp(READY);
  const frames = (): (WorkerFrame | UnknownFrame)[] =>
    effects.flatMap((effect) => (effect.do === "SEND" ? [decodeWorkerFrame(effect.bytes)] : []));
  const arrive = (requestId: string): void => manager.onWorkFrame(request(requestId), new Uint8Array([1, 2, 3]));
  return { clock, manager, happened, posted, frames, arrive };
}

it("a request goes to main before it is acknowledged, while it is still in flight", () => {
  const { manager, happened, arrive } = bench();
  arrive("r");
  expect(happened).toEqual(["main: EXECUTION_REQUEST", "gateway: WORKER_REQUEST_ACK"]);
  expect(manager.inFlightCount).toBe(1);
});

it("the end of a request is reported once, when the gateway has the reply", () => {
  const { manager, happened, arrive } = bench();
  arrive("r");
  happened.length = 0;
  manager.onMainMessage(FAILED);
  expect(happened).toEqual(["gateway: WORKER_REPLY"]);
  expect(manager.undelivered()).toEqual(["r"]);
  manager.onWorkFrame({ kind: "WORKER_REPLY_ACK", requestId: "r" }, NO_BYTES);
  manager.onWorkFrame({ kind: "WORKER_REPLY_ACK", requestId: "r" }, NO_BYTES);
  expect(happened).toEqual(["gateway: WORKER_REPLY", "main: REPLY_ACKED", "REQUEST_ENDED"]);
  expect([manager.inFlightCount, manager.undelivered()]).toEqual([0, []]);
});

it("a request beyond the capacity is returned without reaching main", () => {
  const { manager, happened, frames, arrive } = bench();
  arrive("r");
  happened.length = 0;
  arrive("s");
  expect(happened).toEqual(["gateway: WORKER_REQUEST_NACK"]);
  expect(frames().at(-1)).toMatchObject({ requestId: "s", reason: "AT_CAPACITY", leaseId: "lease of s" });
  expect(manager.inFlightCount).toBe(1);
});

it("in doubt, a request is confirmed before it goes to main and is acknowledged", () => {
  const { manager, happened, arrive } = bench();
  manager.beginDoubt();
  arrive("r");
  expect(happened).toEqual(["gateway: WORKER_REQUEST_EXTEND_LEASE"]);
  happened.length = 0;
  const answer = { kind: "WORKER_REQUEST_EXTEND_LEASE_ACK", requestId: "r", newLeaseId: "next" } as const;
  manager.onWorkFrame(answer as Parameters<typeof manager.onWorkFrame>[0], NO_BYTES);
  expect(happened).toEqual(["main: EXECUTION_REQUEST", "gateway: WORKER_REQUEST_ACK", "main: LEASE_EXTENDED"]);
});

it("requests still running at shutdown are returned: main loses them, and they end in the thread", () => {
  const { manager, happened, frames, arrive } = bench();
  arrive("r");
  happened.length = 0;
  manager.handBackUnfinished();
  expect(happened).toEqual(["gateway: WORKER_REQUEST_NACK", "main: LEASE_LOST", "REQUEST_ENDED"]);
  expect(frames().at(-1)).toMatchObject({ requestId: "r", reason: "DRAIN_TIMEOUT" });
});

it("the debug state lists requests in flight and requests that wait for an acknowledgement", async () => {
  const { clock, manager, arrive } = bench();
  arrive("r");
  await clock.advance(250);
  manager.onMainMessage(FAILED);
  expect(manager.debugState()).toEqual({
    inFlight: [
      {
        ...{ requestId: "r", runId: "run of r", functionSlug: "shop-order", state: "replied" },
        ...{ ageMs: 250, leaseAgeMs: 250 },
      },
    ],
    inFlightCount: 1,
    outbox: { count: 1, bytes: expect.any(Number), full: false },
  });
});
