import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "./cluster.ts";

/** How many runs ended in each second of the test, from the first to the last end. */
export async function endsPerSecond({ sql }: Pick<Cluster, "sql">): Promise<number[]> {
  const rows = await sql`
    SELECT floor(date_part('epoch', ended_at - first))::int AS second, count(*)::int AS count
    FROM holdfast.runs, (SELECT min(ended_at) AS first FROM holdfast.runs) AS f
    WHERE ended_at IS NOT NULL GROUP BY 1 ORDER BY 1`;
  const last = Number(rows.at(-1)?.second ?? -1);
  const counts = new Map(rows.map(({ second, count }) => [Number(second), Number(count)]));
  return Array.from({ length: last + 1 }, (_, second) => counts.get(second) ?? 0);
}

/**
 * Keeps so many runs in flight until `enough`, or until `total` were sent; resolves with how many were sent. A request that a gateway refused or
 * dropped is sent again with the same event ids, so that nothing is lost and nothing comes twice.
 */
export async function feed(
  cluster: Cluster,
  options: { inFlight: number; event: (index: number) => object; enough?: () => boolean; total?: number },
): Promise<number> {
  const { inFlight, event, enough = () => false, total = Number.POSITIVE_INFINITY } = options;
  let sent = 0;
  while (sent < total && !enough()) {
    const [row] = await cluster.sql`SELECT count(*)::int AS count FROM holdfast.runs WHERE ended_at IS NULL`;
    const room = Math.min(inFlight - Number(row?.count ?? 0), total - sent);
    if (room <= 0) {
      await sleep(50);
      continue;
    }
    const events = Array.from({ length: room }, (_, index) => ({
      id: `event-${sent + index}`,
      ...event(sent + index),
    }));
    await sendUntilTaken(cluster, events);
    sent += room;
  }
  return sent;
}

async function sendUntilTaken(cluster: Cluster, events: readonly object[]): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await cluster.api.send(events);
      return;
    } catch (error) {
      if (tries === 600) throw error;
      await sleep(100);
    }
  }
}

/** A table that can be pasted. */
export function table(title: string, rows: readonly Record<string, string | number>[]): void {
  const heads = Object.keys(rows[0] ?? {});
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
  const body = rows.map((row) => line(heads.map((head) => row[head] ?? "")));
  console.log([`\n${title}\n`, line(heads), line(heads.map(() => "---")), ...body, ""].join("\n"));
}
