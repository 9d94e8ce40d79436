import { expect, it, test } from "vitest";
import { newId, seedLeased, stepDone, useStore } from "./harness.ts";
import { holdWrites } from "./held-writes.ts";

const bench = useStore();

const item = (name: string, id: string) => ({ event: { id, name, tsMs: 1, payloadJson: "{}" }, runs: [] });

it("RUNNER-1: a store runs one batch at a time", async () => {
  const other = bench.another();
  const [run, control] = [await seedLeased(bench.store), await seedLeased(bench.store)];
  const held = await holdWrites(bench.db.sql, "events", "new.name = 'held'");
  const first = bench.store.intake([item("held", newId())]);
  try {
    await held.standing(1);
    const second = bench.store.commit(stepDone(run, "later"));
    // Nothing of the second is locked, and another store's writes get through: it would be stored by now.
    for (let n = 0; n < 20; n += 1) expect(await other.commit(stepDone(control, `s${n}`))).toMatchObject({ won: true });
    expect((await other.loadRuns([run.runId]))[0]?.log.map(({ key }) => key)).not.toContain("later");
    expect(bench.store.stats().queued).toBe(1);
    await held.release();
    expect(await second).toMatchObject({ won: true, inserted: [true] });
  } catch (error) {
    await held.release().catch(() => {});
    throw error;
  }
  await first;
});

test.each([
  ["a deadlock", "40P01"],
  ["a serialization failure", "40001"],
  ["a statement timeout", "57014"],
])("RUNNER-3: a batch rolled back by %s is retried unchanged", async (what, code) => {
  const { sql } = bench.db;
  // A sequence counts also what is rolled back.
  await sql.unsafe(`CREATE SEQUENCE public.tries; CREATE FUNCTION public.undo() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF nextval('public.tries') <= 2 THEN RAISE EXCEPTION 'undone' USING ERRCODE = '${code}'; END IF; RETURN new; END $$;
    CREATE TRIGGER undo BEFORE INSERT ON holdfast.events FOR EACH ROW WHEN (new.name = 'undone ${code}')
    EXECUTE FUNCTION public.undo()`);
  const before = bench.store.stats();
  const ids = [newId(), newId(), newId()];
  const outcomes = await Promise.all(
    ids.map((id, index) => bench.store.intake([item(index === 1 ? `undone ${code}` : "other", id)])),
  ).finally(() => sql.unsafe("DROP FUNCTION public.undo CASCADE; DROP SEQUENCE public.tries"));
  expect(outcomes.flat().map(({ eventId }) => eventId)).toEqual(ids);
  const after = bench.store.stats();
  expect(after.batchRetries - before.batchRetries, what).toBe(2);
  expect(after.batches - before.batches).toBe(1);
});
