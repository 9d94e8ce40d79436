import type { Cluster } from "../cluster.ts";

/** What a scenario came to. */
export interface Account {
  readonly runs: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** Events that were acknowledged and started nothing. */
  readonly lost: number;
  /** Events that started more than one run. */
  readonly doubled: number;
  /** Runs that have not ended. */
  readonly stuck: number;
  /** Bodies that came to their end. */
  readonly bodies: number;
  /** Bodies that began when the result of their step had been stored. */
  readonly redone: readonly string[];
  /** Bodies that ended although another of the same step had: allowed while nothing is stored. */
  readonly twice: number;
  /** Stored results of which no body has come to its end. */
  readonly withoutEffect: readonly string[];
}

/** Both clocks are this machine's; Postgres' time of a commit is in microseconds, the journal's in whole milliseconds. */
const CROSSING_MS = 5;

interface Effects {
  readonly begun: number[];
  ended: number;
}

/** Compares what the bodies noted on the disk with what is stored. */
export async function account({ journal, sql }: Cluster, acknowledged: readonly string[]): Promise<Account> {
  const effects = new Map<string, Effects>();
  for (const { runId, what, at } of journal.entries()) {
    const [verb, name] = what.split(" ");
    const key = `${runId} ${name}`;
    const of = effects.get(key) ?? { begun: [], ended: 0 };
    effects.set(key, of);
    if (verb === "begin") of.begun.push(at);
    else of.ended += 1;
  }
  // A row is there from the moment of its commit on; `at` is when its transaction began.
  const stored = await sql`
    SELECT run_id, data::jsonb #>> '{step,name}' AS name,
      extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000 AS stored_ms
    FROM holdfast.run_facts WHERE kind = 'STEP_COMPLETED' AND data::jsonb #>> '{step,op}' = 'StepRun'`;
  const redone: string[] = [];
  const withoutEffect: string[] = [];
  for (const { run_id, name, stored_ms } of stored) {
    const of = effects.get(`${run_id} ${name}`);
    if (of === undefined || of.ended === 0) withoutEffect.push(`${run_id} ${name}`);
    for (const begunMs of of?.begun ?? []) {
      const laterMs = begunMs - Number(stored_ms);
      if (laterMs > CROSSING_MS) redone.push(`${run_id} ${name} ${Math.round(laterMs)} ms after it was stored`);
    }
  }
  const [heads = {}] = await sql`
    SELECT count(*)::int AS runs, count(*) FILTER (WHERE ended_at IS NULL)::int AS stuck FROM holdfast.runs`;
  const statuses = await sql`SELECT status, count(*)::int AS count FROM holdfast.runs GROUP BY 1 ORDER BY 1`;
  const started = new Map<string, number>();
  for (const { id, run_ids } of await sql`SELECT id, run_ids FROM holdfast.events`)
    started.set(id, String(run_ids).split(" ").filter(Boolean).length);
  const all = [...effects.values()];
  return {
    runs: heads.runs,
    stuck: heads.stuck,
    statuses: Object.fromEntries(statuses.map(({ status, count }) => [status, count])),
    lost: acknowledged.filter((id) => (started.get(id) ?? 0) === 0).length,
    doubled: acknowledged.filter((id) => (started.get(id) ?? 0) > 1).length,
    bodies: all.reduce((sum, { ended }) => sum + ended, 0),
    redone,
    twice: all.reduce((sum, { ended }) => sum + Math.max(0, ended - 1), 0),
    withoutEffect,
  };
}
