import { createUlidFactory, systemClock, systemRandom } from "@holdfast/core";
import type { ClaimedJob, LogKind, LogRow, NewJob, NewRun, Store, Transition } from "../../src/index.ts";

export const newId = createUlidFactory(systemClock, systemRandom);

/** Stores on one database, all of them new and empty. */
export interface ContractBench {
  readonly store: Store;
  /** Another gateway's store on the same database. */
  another(): Store;
}

export const logRow = (kind: LogKind, key = "", more: Partial<LogRow> = {}): LogRow => ({
  kind,
  key,
  attempt: 0,
  iteration: 0,
  dataJson: "{}",
  ...more,
});

export const newRun = (more: Partial<NewRun> = {}): NewRun => ({
  id: newId(),
  functionId: "shop-order",
  appId: "shop",
  appVersion: "1",
  eventId: newId(),
  eventName: "shop/order",
  ...more,
});

export const passJob = (runId: string, more: Partial<NewJob> = {}): NewJob => ({
  id: newId(),
  runId,
  kind: "pass",
  key: "",
  functionId: "shop-order",
  attempt: 0,
  iteration: 0,
  ...more,
});

export interface SeededRun {
  readonly runId: string;
  readonly jobId: string;
}

/** A run as an event makes it: created, with its first pass in the queue. */
export async function seedRun(
  store: Store,
  more: { readonly run?: Partial<NewRun>; readonly job?: Partial<NewJob> } = {},
): Promise<SeededRun> {
  const run = newRun(more.run);
  const job = passJob(run.id, { functionId: run.functionId, ...more.job });
  await store.intake([
    {
      event: { id: run.eventId, name: run.eventName, tsMs: 1_700_000_000_000, payloadJson: '{"name":"shop/order"}' },
      runs: [{ run, log: [logRow("RUN_CREATED"), logRow("DISPATCHED")], jobs: [job] }],
    },
  ]);
  return { runId: run.id, jobId: job.id };
}

/** A run whose pass is leased from birth: epoch 1. */
export const seedLeased = (store: Store, functionId = "shop-order", leaseMs = 60_000): Promise<SeededRun> =>
  seedRun(store, { run: { functionId }, job: { lease: { gatewayId: "gateway-a", leaseMs } } });

export const stepDone = (run: SeededRun, key: string, epoch = 1, dataJson = '{"data":1}'): Transition => ({
  runId: run.runId,
  fence: { jobId: run.jobId, epoch },
  cas: null,
  log: [logRow("STEP_COMPLETED", key, { dataJson })],
  removeJobs: [],
  addJobs: [],
});

export const runDone = (run: SeededRun, cas: Transition["cas"] = 1, epoch = 1): Transition => ({
  runId: run.runId,
  fence: { jobId: run.jobId, epoch },
  cas,
  log: [logRow("RUN_COMPLETED", "", { dataJson: '{"output":"done"}' })],
  head: { status: "COMPLETED", outputJson: '"done"' },
  removeJobs: "all",
  addJobs: [],
});

export const claimOne = async (store: Store, functionId: string, leaseMs = 60_000): Promise<ClaimedJob | undefined> =>
  (await store.claim({ gatewayId: "gateway-a", leaseMs, wants: [{ functionId, limit: 1 }] }))[0];

export const lost = (why: string): object => ({ won: false, why });
