import postgres from "postgres";
import { describe, expect, test } from "vitest";
import { inWorld, modes } from "../test/world.ts";

/** Everything durable about a run. */
async function durable(databaseUrl: string, runId: string): Promise<string> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    const head = await sql`SELECT * FROM holdfast.runs WHERE id = ${runId}`;
    const log = await sql`SELECT * FROM holdfast.run_facts WHERE run_id = ${runId} ORDER BY seq, place`;
    const queue = await sql`SELECT * FROM holdfast.queue WHERE run_id = ${runId}`;
    return JSON.stringify({ head, log, queue });
  } finally {
    await sql.end();
  }
}

describe.each(modes)("$name", (mode) => {
  test("a worker stopped beyond its lease changes nothing in a run that another worker has finished", async () => {
    await inWorld({ ...mode, lease: "2s", heartbeat: "500ms" }, async (world) => {
      const zombie = await world.startApp();
      const runId = await world.trigger("gated");
      await world.noted(runId, "at long");
      process.kill(zombie.pid ?? 0, "SIGSTOP");
      try {
        const other = await world.startApp();
        await world.noted(runId, "at long", 2);
        world.journal.open("long");
        expect((await world.ended(runId)).output).toBe("bl");
        const before = await durable(world.databaseUrl, runId);
        process.kill(zombie.pid ?? 0, "SIGCONT");
        // It ends its step, and has nowhere to bring the result.
        await world.noted(runId, "long ended", 2);
        await zombie.close();
        expect(await durable(world.databaseUrl, runId)).toBe(before);
        expect(world.journal.counts(runId)).toMatchObject({ before: 1, long: 2, "long ended": 2 });
        await other.close();
      } finally {
        if (zombie.alive) process.kill(zombie.pid ?? 0, "SIGCONT");
      }
    });
  });
});
