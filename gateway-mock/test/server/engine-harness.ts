/** A gateway's engine on a real store, and workers without sockets: for tests that choose the moment of each message. */
import { silentLog, systemClock, systemRandom, systemTimers } from "@holdfast/core";
import { type ExecutorRequest, encodeJsonBytes, type GatewayFrame, parseJsonBytes } from "@holdfast/protocol";
import type { AppRecord, Store } from "@holdfast/store";
import { createDatabase, type TestDatabase, waitFor } from "@holdfast/testing";
import { afterEach, beforeEach, inject } from "vitest";
import { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import { DEFAULT_DISPATCHER_SETTINGS, type DispatcherSettings } from "../../src/dispatch/ports.ts";
import type { WorkerSession } from "../../src/dispatch/workers/connected-worker.ts";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { type Answer, type Payload, replyOf } from "./raw-worker.ts";

/** An app of functions that run on the event of their name, by name, with their options. */
export const appOf = (functions: Readonly<Record<string, object>>): AppRecord => ({
  id: "shop",
  version: "1",
  sdk: "test",
  functions: Object.entries(functions).map(([name, more]) => {
    const triggers = [{ event: `shop/${name}` }];
    return {
      slug: `shop-${name}`,
      name,
      triggersJson: JSON.stringify(triggers),
      configJson: JSON.stringify({ id: `shop-${name}`, triggers, steps: {}, ...more }),
    };
  }),
});

export function engineOf(store: Store, gatewayId: string, settings: Partial<DispatcherSettings> = {}): Dispatcher {
  return new Dispatcher({
    store,
    clock: systemClock,
    timers: systemTimers,
    random: systemRandom,
    log: silentLog,
    call: () => Promise.reject(new Error("nothing is fetched here")),
    chooseWorker: (workers) => [...workers][0],
    settings: {
      ...DEFAULT_DISPATCHER_SETTINGS,
      gatewayId,
      requestAckMs: 60_000,
      reconnectGraceMs: 60_000,
      ...settings,
    },
  });
}

/** Looks into the queue that nothing has asked for come too late to help a test. */
export const NEVER_POLLS: Partial<DispatcherSettings> = { pollMinMs: 600_000, pollMaxMs: 600_000 };

/** Before each test a started engine that knows the app; `changed` are the store's calls that it has otherwise. */
export function useEngine(
  app: AppRecord,
  changed: (store: Store) => Partial<Store>,
  settings: Partial<DispatcherSettings> = {},
): { readonly store: Store; readonly engine: Dispatcher } {
  let db: TestDatabase;
  let store: Store;
  let engine: Dispatcher;
  beforeEach(async () => {
    db = await createDatabase(inject("postgresUrl"));
    store = openPostgresStore({ url: db.url, maxConnections: 5 });
    await store.migrate();
    engine = engineOf({ ...store, ...changed(store) }, "here", settings);
    await engine.register([app]);
    await engine.start();
  });
  afterEach(async () => {
    await engine.stop();
    await store.close();
    await db.drop();
  });
  return {
    get store() {
      return store;
    },
    get engine() {
      return engine;
    },
  };
}

/** A worker of an engine, without a socket. */
export function workerOf(dispatcher: Dispatcher, options: Partial<WorkerSession> = {}) {
  const frames: GatewayFrame[] = [];
  const session: WorkerSession = {
    id: "session",
    instanceId: "instance",
    environment: "",
    functionIds: ["shop-order"],
    apps: [appOf({ order: {} })],
    queues: null,
    partitions: [],
    capacity: 10,
    isLimited: false,
    extensions: new Set(["checkpoint"]),
    heartbeatMs: 10_000,
    leaseMs: 60_000,
    extendLeaseMs: 60_000,
    seenMs: 0,
    congested: false,
    log: silentLog,
    send: (frame) => void frames.push(frame),
    setDrained: () => {},
    flush: () => {},
    sendWhenRoom: (make) => {
      const frame = make();
      if (frame) frames.push(frame);
    },
    ...options,
  };
  const worker = dispatcher.attach(session, true);
  const next = <Kind extends GatewayFrame["kind"]>(kind: Kind) =>
    waitFor(
      () => {
        const index = frames.findIndex((frame) => frame.kind === kind);
        return index < 0 ? undefined : (frames.splice(index, 1)[0] as Extract<GatewayFrame, { kind: Kind }>);
      },
      { what: kind },
    );
  return {
    frames,
    pause: () => worker.pause(),
    cancel: () => next("GATEWAY_CANCEL"),
    request: async () => {
      const request = await next("GATEWAY_EXECUTOR_REQUEST");
      return { request, steps: (parseJsonBytes(request.requestPayload, "payload") as Payload).steps };
    },
    checkpoint: (sequence: number, { requestId, runId, leaseId }: ExecutorRequest, ops: object[]) => {
      worker.receive({ kind: "WORKER_CHECKPOINT", requestId, runId, leaseId, sequence, ops: encodeJsonBytes(ops) });
      return next("GATEWAY_CHECKPOINT_ACK");
    },
    reply: (request: ExecutorRequest, answer: Answer) =>
      worker.receive({ kind: "WORKER_REPLY", ...replyOf(request, answer) }),
  };
}
