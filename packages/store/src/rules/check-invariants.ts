/**
 * What must hold of every run in a database at rest, for tests: the head is the fold of its log, no fact is in it
 * twice, and its jobs move it on.
 */
import { messageOf } from "@holdfast/core";
import type { Store } from "../port/store.ts";
import type { RunHead, StoredRun } from "../port/work.ts";
import { factKeyOf } from "./fact-key.ts";
import { foldHead } from "./fold-head.ts";

/** What the check reads of a store. */
export type CheckedStore = Pick<Store, "listRuns" | "loadRuns" | "getRun">;

const PAGE = 500;

export interface InvariantReport {
  readonly runs: number;
  /** One line per broken invariant; empty when all hold. */
  readonly broken: readonly string[];
}

/**
 * The promises of the store, for every run it has; meant for tests, while nothing writes.
 *
 * STORED-1. `fold(run_log) = runs`.
 * STORED-2. A run that has not ended has a job: it cannot be forgotten. One that has ended has none, and waits for
 *     nothing.
 * STORED-3. No fact is in a log twice: the first result of a step is the only one.
 */
export async function checkInvariants(store: CheckedStore): Promise<InvariantReport> {
  const broken: string[] = [];
  let runs = 0;
  let cursor: string | undefined;
  do {
    const page = await store.listRuns({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    for (const run of await store.loadRuns(page.runs.map((head) => head.id))) {
      runs += 1;
      broken.push(...checkFacts(run).map((what) => `run ${run.head.id}: ${what}`));
      broken.push(...checkFold(run).map((what) => `run ${run.head.id}: ${what}`));
      broken.push(...(await checkJobs(store, run.head)).map((what) => `run ${run.head.id}: ${what}`));
    }
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return { runs, broken };
}

function checkFacts({ head, log }: StoredRun): string[] {
  const seen = new Set<string>();
  return log.flatMap((fact) => {
    const key = factKeyOf(head.id, fact);
    if (seen.has(key)) return [`its log has ${fact.kind} ${fact.key} twice`];
    seen.add(key);
    return [];
  });
}

function checkFold({ head, log }: StoredRun): string[] {
  try {
    const folded = foldHead(log);
    const fields = ["status", "version", "createdMs", "endedMs"] as const;
    return [
      ...fields
        .filter((name) => folded[name] !== head[name])
        .map((name) => `${name} is ${head[name]}, its log says ${folded[name]}`),
      ...(sameJson(folded.outputJson, head.outputJson) ? [] : ["its output differs from the one in its log"]),
      ...(sameJson(folded.errorJson, head.errorJson) ? [] : ["its error differs from the one in its log"]),
    ];
  } catch (error) {
    return [messageOf(error)];
  }
}

async function checkJobs(store: CheckedStore, head: RunHead): Promise<string[]> {
  const run = await store.getRun(head.id);
  const jobs = run?.jobs.length ?? 0;
  const waits = run?.waits.length ?? 0;
  if (head.endedMs === null) return jobs === 0 ? [`it is ${head.status} and has no job: it would never continue`] : [];
  return [
    ...(jobs === 0 ? [] : [`it is ${head.status} and still has ${jobs} jobs`]),
    ...(waits === 0 ? [] : [`it is ${head.status} and still waits for ${waits} things`]),
  ];
}

function sameJson(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return a === b;
  return JSON.stringify(JSON.parse(a)) === JSON.stringify(JSON.parse(b));
}
