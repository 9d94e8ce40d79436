import { type Log, ulidFromSeed } from "@holdfast/core";
import {
  type ConnectionReady,
  decodeWorkerFrame,
  type ExecutorRequest,
  type UnknownFrame,
  type WorkerFrame,
} from "@holdfast/protocol";
import { fakeClock } from "@holdfast/testing";
import { expect, it } from "vitest";
import { suspensionLimitMs } from "../../src/connection/machines/intervals.ts";
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
const SUSPENSION_MS = suspensionLimitMs(30_000);

const request = (requestId: string, leaseId: string): ExecutorRequest =>
  ({
    kind: "GATEWAY_EXECUTOR_REQUEST",
    ...{ requestId, runId: `run of ${requestId}`, leaseId },
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
function bench(maxWorkerConcurrency = 10) {
  const clock = fakeClock();
  const logged: string[] = [];
  const log: Log = (level, message) => void logged.push(`${level}: ${message}`);
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
    maxWorkerConcurrency,
    partitions: [],
    sdkVersion: "holdfast-js:test",
    outbox: { maxCount: 100, maxBytes: 1_000_000, ackMs: 5_000, flushMs: 2_000 },
  } as unknown as SerializableConfig;
  const manager = new RequestManager(
    {
      ...{ clock, timers: clock, log, config, port, coalescing: port, doubtNumber: 1 },
      inFlight: new InFlightRequests(clock, 1, config),
      http: { flush: async () => ({ ok: true }) },
      counters: { setDoubtNumber: () => {}, addRevocation: () => {} },
      isolated: { isIsolated: () => false, has: () => false, adopt: () => {}, forget: () => {} },
    } as unknown as ConstructorParameters<typeof RequestManager>[0],
    (effect) => {
      effects.push(effect);
      happened.push(effect.do === "SEND" ? `gateway: ${decodeWorkerFrame(effect.bytes).kind}` : effect.do);
    },
  );
  manager.onLinkUp(READY);
  const frames = (): (WorkerFrame | UnknownFrame)[] =>
    effects.flatMap((effect) => (effect.do === "SEND" ? [decodeWorkerFrame(effect.bytes)] : []));
  const arrive = (requestId: string, leaseId = `lease of ${requestId}`): void =>
    manager.onWorkFrame(request(requestId, leaseId), new Uint8Array([1, 2, 3]));
  const extend = (requestId: string): void => {
    const answer = { kind: "WORKER_REQUEST_EXTEND_LEASE_ACK", requestId, newLeaseId: "next" } as const;
    manager.onWorkFrame(answer as Parameters<typeof manager.onWorkFrame>[0], NO_BYTES);
  };
  return { clock, manager, logged, happened, posted, frames, arrive, extend };
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
  const { manager, happened, frames, arrive } = bench(1);
  arrive("r");
  happened.length = 0;
  arrive("s");
  expect(happened).toEqual(["gateway: WORKER_REQUEST_NACK"]);
  expect(frames().at(-1)).toMatchObject({ requestId: "s", reason: "AT_CAPACITY", leaseId: "lease of s" });
  expect(manager.inFlightCount).toBe(1);
});

it("DOUBT-2: in doubt, a request is confirmed before it goes to main and is acknowledged", () => {
  const { manager, happened, arrive, extend } = bench();
  manager.beginDoubt();
  arrive("r");
  expect(happened).toEqual(["gateway: WORKER_REQUEST_EXTEND_LEASE"]);
  happened.length = 0;
  extend("r");
  expect(happened).toEqual(["main: EXECUTION_REQUEST", "gateway: WORKER_REQUEST_ACK", "main: LEASE_EXTENDED"]);
});

it("DOUBT-3: only an answer given after the doubt began ends it for requests that are read later", async () => {
  const { clock, manager, happened, arrive, extend } = bench();
  const fateOf = (requestId: string): string | undefined => {
    happened.length = 0;
    arrive(requestId);
    return happened[0];
  };
  arrive("held");
  await clock.advance(30_000);
  expect(happened.at(-1), "its lease is extended").toBe("gateway: WORKER_REQUEST_EXTEND_LEASE");
  manager.beginDoubt();
  extend("held");
  expect(fateOf("after an old answer")).toBe("gateway: WORKER_REQUEST_EXTEND_LEASE");
  extend("held");
  expect(fateOf("after a new answer")).toBe("main: EXECUTION_REQUEST");
});

it.each([
  ["by a suspension goes to main", SUSPENSION_MS, "main: EXECUTION_REQUEST"],
  ["by more than a suspension is confirmed first", SUSPENSION_MS + 1, "gateway: WORKER_REQUEST_EXTEND_LEASE"],
])("DOUBT-4: a request that arrives later than others %s", (_name, lateMs, expected) => {
  const { happened, arrive } = bench();
  const leaseUntil = (endsInMs: number): string => ulidFromSeed(1_000_000 + endsInMs, new Uint8Array(10), 0);
  arrive("punctual", leaseUntil(60_000));
  happened.length = 0;
  arrive("late", leaseUntil(60_000 - lateMs));
  expect(happened[0]).toBe(expected);
});

it.each(["lost", "replaced"])("DOUBT-5: an unacknowledged request is forgotten when its connection is %s", (how) => {
  const { manager, happened, posted, arrive, extend } = bench();
  manager.beginDoubt();
  arrive("r");
  happened.length = 0;
  if (how === "lost") manager.onLinkDown();
  else manager.onLinkUp(READY);
  expect([happened, manager.inFlightCount]).toEqual([["REQUEST_ENDED"], 0]);
  manager.onLinkUp(READY);
  expect(happened, "its lease is not extended").toEqual(["REQUEST_ENDED"]);
  extend("r");
  expect(posted).toEqual([]);
  arrive("r");
  expect(
    posted.map(({ type }) => type),
    "delivered again, it is new",
  ).toEqual(["EXECUTION_REQUEST"]);
});

it("requests still running at shutdown are returned: main loses them, and they end in the thread", () => {
  const { manager, happened, frames, arrive } = bench();
  arrive("r");
  happened.length = 0;
  manager.handBackUnfinished();
  expect(happened).toEqual(["gateway: WORKER_REQUEST_NACK", "main: LEASE_LOST", "REQUEST_ENDED"]);
  expect(frames().at(-1)).toMatchObject({ requestId: "r", reason: "DRAIN_TIMEOUT" });
});

it("says of a request still running at shutdown what became of it, also where the gateway cannot have it back", async () => {
  const returned = bench();
  returned.arrive("r");
  returned.manager.handBackUnfinished();
  expect(returned.logged).toEqual(["warn: A request had not finished in time and was returned to the gateway."]);

  const plain = bench();
  plain.manager.onLinkUp({ ...READY, extensions: [] });
  plain.arrive("r");
  plain.manager.handBackUnfinished();
  expect(plain.logged).toEqual([
    "warn: A request had not finished in time. This gateway does not take requests back: it gives the work to another worker once the lease has expired.",
  ]);

  const cut = bench();
  cut.arrive("r");
  await cut.clock.advance(10_000);
  cut.manager.onLinkDown();
  await cut.clock.advance(57_000);
  cut.happened.length = 0;
  cut.manager.handBackUnfinished();
  expect(cut.logged).toEqual([
    "warn: A request had not finished in time and could not be returned: there has been no connection to a gateway for 57 s. A gateway gives the work to another worker once the lease has expired.",
  ]);
  expect(cut.happened).toEqual(["main: LEASE_LOST", "REQUEST_ENDED"]);
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
