import { foldRun, isEnded } from "@holdfast/engine";
import { checkInvariants, type Store, type StoredRun } from "@holdfast/store";
import { createDatabase, type TestDatabase, waitFor } from "@holdfast/testing";
import { afterEach, beforeEach, expect, inject } from "vitest";
import type { GatewayOptions } from "../../src/config/gateway-options.ts";

import type { RunWaiting } from "../../src/dispatch/admission/waiting-facts.ts";
import type { DeferView, RunView, StallView, StepView } from "../../src/http/run-view.ts";
import { type Gateway, type GatewayPorts, REAL_PORTS, startGatewayOn } from "../../src/server.ts";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { RawWorker, type WorkerOptions } from "./raw-worker.ts";

export interface RunDetailView extends RunView {
  readonly steps: readonly StepView[];
  readonly stalls: readonly StallView[];
  readonly defers: readonly DeferView[];
  readonly leasesLost: number;
  readonly deadlineMs: number | null;
  readonly waiting: RunWaiting | null;
  readonly jobs: readonly { readonly id: string; readonly kind: string; readonly epoch: number }[];
  readonly waits: readonly { readonly kind: string; readonly name: string; readonly key: string }[];
  readonly log: readonly { readonly kind: string; readonly key: string; readonly attempt: number }[];
}

/** For gateways that are to have one. */
export const SIGNING_KEY = "signkey-test-00112233445566778899aabbccddeeff";

export interface Bench {
  readonly db: TestDatabase;
  readonly store: Store;
  /** Starts a gateway on the file's database; closed after the test. */
  gateway(options?: GatewayOptions, ports?: GatewayPorts): Promise<Gateway>;
  /** Connects a worker; closed after the test. */
  worker(gateway: Gateway, options?: Partial<WorkerOptions>): Promise<RawWorker>;
}

/** These workers extend no lease and send no heartbeat: a test may take as long as the machine needs. */
const PATIENT = { leaseMs: 100_000, heartbeatMs: 30_000 } as const;

/** One database a test. After each test everything is closed and the invariants of every run are checked. */
export function useGateway(): Bench {
  const gateways: Gateway[] = [];
  const workers: RawWorker[] = [];
  let db: TestDatabase | undefined;
  let store: Store | undefined;
  beforeEach(async () => {
    db = await createDatabase(inject("postgresUrl"), { template: inject("migratedTemplate") });
    store = openPostgresStore({ url: db.url, maxConnections: 3 });
  });
  afterEach(async () => {
    for (const worker of workers.splice(0)) worker.cut();
    await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
    try {
      if (store) await check(store);
    } finally {
      await store?.close();
      await db?.drop();
    }
  });
  return {
    get db() {
      return db as TestDatabase;
    },
    get store() {
      return store as Store;
    },
    async gateway(options = {}, ports = REAL_PORTS) {
      const gateway = await startGatewayOn(ports, {
        port: 0,
        databaseUrl: (db as TestDatabase).url,
        retryBaseMs: 50,
        maxConnections: 5,
        drainMs: 5000,
        ...(options.plain ? {} : PATIENT),
        ...options,
      });
      gateways.push(gateway);
      return gateway;
    },
    async worker(gateway, options = {}) {
      const worker = await RawWorker.connect({ url: gateway.url, ...options });
      workers.push(worker);
      // Frames are taken in order: once this is answered the gateway knows that the worker is ready.
      worker.send({ kind: "WORKER_HEARTBEAT" });
      await worker.frame("GATEWAY_HEARTBEAT");
      return worker;
    },
  };
}

async function check(store: Store): Promise<void> {
  expect((await checkInvariants(store)).broken).toEqual([]);
  expect((await store.unmovedRuns({ limit: 100_000 })).runIds, "runs that nothing moves on").toEqual([]);
  const { runs } = await store.listRuns({ limit: 1000 });
  for (const run of await store.loadRuns(runs.map(({ id }) => id))) checkFold(run);
}

/** The engine's own fold agrees with the head too. */
function checkFold(run: StoredRun): void {
  const state = foldRun(run);
  expect(isEnded(state.status)).toBe(run.head.endedMs !== null);
  if (isEnded(state.status)) expect(state.status).toBe(run.head.status);
}

export interface Metrics {
  readonly dispatcher: Readonly<Record<string, number>> & { readonly workers: number; readonly inFlight: number };
  readonly queue: { readonly due: number; readonly leased: number; readonly later: number };
}

export async function metrics(gateway: Gateway, init?: RequestInit): Promise<Metrics> {
  return (await call(gateway, "/v1/metrics", init)) as Metrics;
}

export async function call(gateway: Gateway, path: string, init?: RequestInit): Promise<unknown> {
  const response = await fetch(new URL(path, gateway.url), init);
  return response.json();
}

const ASKED_AT_ONCE = 50;

/** Sends events, each a run of the harness's one function; returns the ids of the runs. */
export async function start(gateway: Gateway, count = 1, name = "shop/order"): Promise<string[]> {
  const events = Array.from({ length: count }, (_, n) => ({ name, data: { n } }));
  const body = (await call(gateway, "/e/test", { method: "POST", body: JSON.stringify(events) })) as { ids: string[] };
  const runIds: string[] = [];
  // Not all at once: each has a connection of its own, and the gateway ends those that wait long in a busy process.
  for (let from = 0; from < body.ids.length; from += ASKED_AT_ONCE) {
    const ids = body.ids.slice(from, from + ASKED_AT_ONCE);
    const events = await Promise.all(ids.map((id) => call(gateway, `/v1/events/${id}`)));
    runIds.push(...events.flatMap((event) => (event as { runIds: string[] }).runIds));
  }
  return runIds;
}

export async function runDetail(gateway: Gateway, runId: string): Promise<RunDetailView> {
  return (await call(gateway, `/v1/runs/${runId}?log=1`)) as RunDetailView;
}

export function ended(gateway: Gateway, runId: string): Promise<RunDetailView> {
  return waitFor(
    async () => {
      const run = await runDetail(gateway, runId);
      return run.endedMs === null ? undefined : run;
    },
    { what: `run ${runId} to end`, context: async () => JSON.stringify(await runDetail(gateway, runId)) },
  );
}

export const op = (name: string, id: string, more: object = {}): object => ({ op: name, id, displayName: id, ...more });
export const did = (id: string, data: unknown = id): object => op("StepRun", id, { data });
export const plan = (id: string, more: object = {}): object => op("StepPlanned", id, more);
export const failed = (id: string, more: object = {}): object =>
  op("StepError", id, { error: { name: "Error", message: `${id} failed` }, ...more });

/** Sends one event that is not the harness's own; returns its id. */
export async function send(gateway: Gateway, name: string, data: object = {}): Promise<string> {
  const body = JSON.stringify({ name, data });
  const { ids } = (await call(gateway, "/e/test", { method: "POST", body })) as { ids: string[] };
  return ids[0] ?? "";
}

export async function triggered(gateway: Gateway, eventId: string): Promise<string> {
  const { runIds } = (await call(gateway, `/v1/events/${eventId}`)) as { runIds: string[] };
  return runIds[0] ?? "";
}

/** Resolves once the run waits for what `name` names. */
export function waits(gateway: Gateway, runId: string, name?: string): Promise<RunDetailView> {
  return waitFor(
    async () => {
      const run = await runDetail(gateway, runId);
      return run.waits.some((wait) => name === undefined || wait.name === name) ? run : undefined;
    },
    { what: `run ${runId} to wait for ${name ?? "anything"}` },
  );
}
