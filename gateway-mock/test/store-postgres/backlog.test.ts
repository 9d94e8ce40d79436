import { overdueWork } from "../../src/store-postgres/overdue-work.ts";
import { DueBounds } from "../../src/store-postgres/queue/due-bounds.ts";
import { claim, extendLeases, nextDueInMs, recallJobs, releaseLeases } from "../../src/store-postgres/queue/leases.ts";
import { placesTaken } from "../../src/store-postgres/waiting.ts";
import { finishJobs } from "../../src/store-postgres/waits.ts";
import { firstStatement, JOBS_BY_ID_AND_RUN, writesOf } from "../../src/store-postgres/writer/sql.ts";

import { AT_ONCE, ids, sum, testLongQueues } from "./long-queues.ts";
import type { Statements } from "./pages-read.ts";

/** Looks from the beginning. */
const bounds = (): DueBounds => new DueBounds(() => 0);

const claimed = async (on: Statements, functionId: string): Promise<number> => {
  const wants = [
    { functionId, limit: AT_ONCE },
    { functionId: "none", limit: AT_ONCE },
  ];
  const jobs = await claim(on, bounds(), "claim", { gatewayId: "gateway", leaseMs: 60_000, wants });
  return jobs.length;
};

const NOTHING = {
  events: [],
  runs: [],
  logs: [],
  heads: [],
  removeJobs: [],
  removeJobsOfRuns: [],
  jobs: [],
  removeWaits: [],
  removeWaitsOfRuns: [],
  waits: [],
  flowRules: [],
  crons: [],
  links: [],
  freeKeys: [],
};

const extended = async (on: Statements): Promise<number> => {
  const leases = ids.map((jobId) => ({ jobId, epoch: 1, gatewayId: "gateway", leaseMs: 60_000 }));
  return (await extendLeases(on.query, leases)).filter(Boolean).length;
};

const released = async (on: Statements): Promise<number> => {
  const leases = ids.map((jobId) => ({ jobId, epoch: 1, lost: true, holdMs: 1000 }));
  return (await releaseLeases(on.query, leases)).filter(Boolean).length;
};

const recalled = async (on: Statements, appVersion: string | null): Promise<number> =>
  sum(await recallJobs(on.query, bounds(), [{ functionId: "fn", appVersion, limit: AT_ONCE }]));

const finished = async ({ query }: Statements): Promise<number> =>
  (
    await finishJobs(
      query,
      ids.map((jobId) => ({ jobId, epoch: 1 })),
    )
  ).filter(Boolean).length;

/** Runs that end: their jobs are locked, then removed. */
const ended = async ({ query }: Statements): Promise<number> => {
  const runIds = ids.map((one) => one.replace("job", "run"));
  const found = await query(JOBS_BY_ID_AND_RUN, [`{${ids.slice(1)}}`, `{${runIds}}`, `{${runIds}}`]);
  const writes = { ...NOTHING, removeJobs: ids.slice(1), removeJobsOfRuns: runIds };
  const { first, second } = writesOf(writes);
  for (const { text, params } of [...firstStatement(first, null), ...second]) await query(text, params);
  return found.length;
};

const isNextDue = async (on: Statements): Promise<number> =>
  Number((await nextDueInMs(on.query, bounds(), ["fn", "none"])) !== null);

/** Jobs that come before this one, which is among the first. */
const ahead = async ({ query }: Statements, jobId: string): Promise<number> => {
  const places = await placesTaken(query, { slots: [], throttles: [], functionIds: [], ahead: [jobId] });
  return places.ahead[0]?.ahead as number;
};

const overdue = async ({ query }: Statements): Promise<number> =>
  (await overdueWork(query, { functionIds: ["fn", "none"], dueForMs: 1 }))[0]?.count as number;

const LATER = "now() + interval '1 hour' + i * interval '1 millisecond'";

testLongQueues({
  "due jobs of three priorities": {
    columns: { priority: "i % 3" },
    acts: {
      claim: (on) => claimed(on, "fn"),
      "end of runs": ended,
      "next due": isNextDue,
      "jobs ahead": (on) => ahead(on, "job-00000008"),
      "overdue work": overdue,
    },
  },
  "due jobs of a hundred priorities": {
    columns: { priority: "i % 100", run_id: "'run-' || lpad((i % 1000 + 1)::text, 8, '0')", key: "i" },
    // Of the short one there are ten of each. Of the long one a claim would lock a hundred of each.
    atMost: 6,
    acts: { claim: (on) => claimed(on, "fn"), "jobs ahead": (on) => ahead(on, "job-00000199") },
  },
  "leases that have ended": {
    columns: { epoch: "1", leased_by: "'gateway'" },
    acts: { claim: (on) => claimed(on, "fn"), extension: extended, release: released },
  },
  "jobs at work": {
    columns: { epoch: "1", leased_by: "'gateway'", available_at: LATER },
    inVain: 0,
    acts: { extension: extended, release: released },
  },
  "jobs without a run": {
    columns: { run_id: "''", kind: "'event'", key: "i", epoch: "1" },
    inVain: 0,
    acts: { "end of jobs": finished },
  },
  "jobs that were put off": {
    columns: { epoch: "1", wanted_version: "i % 2", unplaced_since: "now()", available_at: LATER },
    acts: {
      claim: (on) => claimed(on, "fn"),
      "next due": isNextDue,
      "recall of a version": (on) => recalled(on, "1"),
      "recall of another version": (on) => recalled(on, "2"),
      "review of what no worker has had": (on) => recalled(on, null),
    },
  },
});
