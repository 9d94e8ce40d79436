import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";

/** Each query finds what must not be; written against the tables alone, so it shares no mistake with the gateway's code. */
const violations: Record<string, string> = {
  "a run that is not over has neither job nor wait": `
    SELECT id, status FROM holdfast.runs AS run
    WHERE ended_at IS NULL AND NOT EXISTS (SELECT 1 FROM holdfast.queue WHERE run_id = run.id)`,
  "a run that is not over has nothing that moves it on": `
    SELECT id, status FROM holdfast.runs AS run
    WHERE ended_at IS NULL AND NOT EXISTS (SELECT 1 FROM holdfast.waits WHERE run_id = run.id AND kind <> 'cancel')
      AND NOT EXISTS (SELECT 1 FROM holdfast.queue WHERE run_id = run.id
        AND kind <> 'start' AND key NOT IN ('holdfast/deadline', 'holdfast/finish'))`,
  "a run was left unfinished by the test": `
    SELECT id, status FROM holdfast.runs WHERE ended_at IS NULL`,
  "a run that is over still has a job": `
    SELECT job.id, run.id AS run, run.status FROM holdfast.queue AS job
    JOIN holdfast.runs AS run ON run.id = job.run_id WHERE run.ended_at IS NOT NULL`,
  "a head says something else than the last row of its log": `
    SELECT run.id, run.status, run.version, last.status AS log_status, last.version AS log_version
    FROM holdfast.runs AS run
    LEFT JOIN LATERAL (
      SELECT version, status FROM holdfast.run_facts
      WHERE run_id = run.id AND version IS NOT NULL ORDER BY version DESC, seq DESC LIMIT 1
    ) AS last ON true
    WHERE (run.status, run.version) IS DISTINCT FROM (last.status, last.version)`,
  "a status, its end and its last fact do not agree": `
    SELECT id, status FROM holdfast.runs AS run
    WHERE (ended_at IS NOT NULL) <> (status IN ('COMPLETED', 'FAILED', 'CANCELLED'))
       OR (SELECT count(*) FILTER (WHERE kind IN ('RUN_COMPLETED', 'RUN_FAILED', 'RUN_CANCELLED'))
             - count(*) FILTER (WHERE kind = 'RUN_REVIVED') FROM holdfast.run_facts WHERE run_id = run.id)
          <> (ended_at IS NOT NULL)::int
       OR (ended_at IS NOT NULL AND NOT EXISTS (
             SELECT 1 FROM holdfast.run_facts WHERE run_id = run.id AND kind = 'RUN_' || run.status))`,
  "an output is not the one in the log": `
    SELECT id, output FROM holdfast.runs AS run JOIN holdfast.run_facts AS log ON log.run_id = run.id AND log.kind = 'RUN_COMPLETED'
    WHERE (log.data::jsonb -> 'output') IS DISTINCT FROM run.output::jsonb`,
  "a run has no beginning, or more than one": `
    SELECT id FROM holdfast.runs AS run
    WHERE (SELECT count(*) FROM holdfast.run_facts WHERE run_id = run.id AND kind = 'RUN_CREATED') <> 1`,
  "a step was settled twice": `
    SELECT run_id, key FROM holdfast.run_facts WHERE kind IN ('STEP_COMPLETED', 'STEP_FAILED')
    GROUP BY run_id, key, iteration HAVING count(*) > 1`,
};

const PATIENCE_MS = 100_000;

/** Runs that nothing waited for, such as one that another run started with its end, may still be at it. */
async function runsEnd(sql: postgres.Sql): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  while (performance.now() < endMs) {
    const [row] = await sql`SELECT EXISTS (SELECT 1 FROM holdfast.runs WHERE ended_at IS NULL) AS busy`;
    if (!row?.busy) return;
    await sleep(50);
  }
}

/** @throws an error that names every broken invariant, with the rows that break it */
export async function checkInvariants(databaseUrl: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    await runsEnd(sql);
    const broken: string[] = [];
    for (const [what, query] of Object.entries(violations)) {
      const rows = await sql.unsafe(query);
      if (rows.length > 0) broken.push(`${what}: ${JSON.stringify(rows.slice(0, 5))}`);
    }
    const [{ count } = { count: 0 }] = await sql`SELECT count(*)::int AS count FROM holdfast.runs`;
    if (count === 0) broken.push("there are no runs at all");
    if (broken.length > 0) throw new Error(`The durable state is wrong.\n${broken.join("\n")}`);
  } finally {
    await sql.end();
  }
}
