import postgres from "postgres";
import { expect, test } from "vitest";
import { did, ended, start, useGateway } from "./harness.ts";

const bench = useGateway();

/** The database takes no fact of this key. */
async function refuse(key: string): Promise<void> {
  const sql = postgres(bench.db.url, { max: 1 });
  await sql.unsafe(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'this cannot be stored' USING ERRCODE = '54000'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON holdfast.run_log FOR EACH ROW WHEN (NEW.facts LIKE '% ${key}%') EXECUTE FUNCTION refuse()`);
  await sql.end();
}

test.each([
  { name: "in place", options: {} },
  { name: "plain", options: { extensions: [] } },
])("$name: data that the database can never store fails the run with the reason", async ({ options }) => {
  await refuse("poison");
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, options);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  await worker.replied(request, { value: [did("fine"), did("poison")] });
  const run = await ended(gateway, runId);
  expect(run).toMatchObject({ status: "FAILED", error: { code: "STORE_FAILED" }, leasesLost: 0 });
  expect(run.error).toHaveProperty("message", expect.stringContaining("this cannot be stored"));
});
