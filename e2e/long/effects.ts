import type { JournalReader } from "../test/journal-reader.ts";
import type { Cluster } from "./cluster.ts";

/** Step bodies that ran more than once, as "run step: times". What came back from a step is noted as "got ..." */
export function duplicates(journal: JournalReader): string[] {
  const times = new Map<string, number>();
  for (const { runId, what } of journal.entries()) {
    if (what.startsWith("got ")) continue;
    const effect = `${runId} ${what}`;
    times.set(effect, (times.get(effect) ?? 0) + 1);
  }
  return [...times].filter(([, count]) => count > 1).map(([effect, count]) => `${effect}: ${count}`);
}

/**
 * Step bodies that ran after their result had come back to the function, in a request that was given out after it had been
 * stored. A request from before may run them: whoever has it may not have heard yet that the work is another worker's.
 */
export async function redoneAfterAcknowledgement({
  journal,
  sql,
}: Pick<Cluster, "journal" | "sql">): Promise<string[]> {
  const acknowledged = new Set<string>();
  const again: { readonly runId: string; readonly what: string; readonly request: string }[] = [];
  // Lines are appended with one write each, so their order is the order of things, over all processes.
  for (const { runId, what, request = "" } of journal.entries()) {
    if (what.startsWith("got ")) acknowledged.add(`${runId} ${what.slice(4)}`);
    else if (acknowledged.has(`${runId} ${what}`)) again.push({ runId, what, request });
  }
  const redone: string[] = [];
  for (const { runId, what, request } of again) {
    const [jobId = "", epoch = "0"] = request.split(".");
    const name = what.replace(/ round 0$/, "").replace(" round ", ":");
    const rows = await sql`SELECT
      (SELECT min(at) FROM holdfast.run_facts WHERE run_id = ${runId} AND kind IN ('STEP_COMPLETED', 'STEP_FAILED')
        AND data::jsonb #>> '{step,name}' = ${name}) AS stored,
      COALESCE(
        (SELECT at FROM holdfast.run_facts WHERE run_id = ${runId} AND kind = 'LEASE_LOST' AND key = ${jobId} AND iteration = ${Number(epoch) - 1}),
        (SELECT at FROM holdfast.run_facts WHERE run_id = ${runId} AND kind = 'DISPATCHED' AND data::jsonb ->> 'job' = ${jobId} AND ${epoch} = '1')
      ) AS given`;
    const { stored, given } = rows[0] ?? {};
    if (!stored || !given || given > stored)
      redone.push(`${runId} ${what} in ${request}: given ${given}, stored ${stored}`);
  }
  return redone;
}

/** How many step bodies ran. */
export function bodies(journal: JournalReader): number {
  return journal.entries().filter(({ what }) => !what.startsWith("got ")).length;
}
