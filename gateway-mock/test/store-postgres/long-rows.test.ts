/** Batches with long rows are several statements: what holds of one transaction holds of them. */
import type { Store, Transition } from "@holdfast/store";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CuttingProxy, openCuttingProxy } from "./cutting-proxy.ts";
import { logRow, newId, type SeededRun, seedLeased, stepDone, useStore } from "./harness.ts";

const bench = useStore();
let proxy: CuttingProxy;
let store: Store;

beforeAll(async () => {
  proxy = await openCuttingProxy(bench.db.url);
  store = bench.another({ url: proxy.url });
});
afterAll(async () => {
  await store.close();
  await proxy.close();
});

const MEGABYTE = 1_000_000;
const textOf = (mark: string): string => JSON.stringify({ data: mark + "é".repeat(10) + "x".repeat(MEGABYTE) });

const longOf = (run: SeededRun, key: string, dataJson: string): Transition => ({
  ...stepDone(run, key),
  log: [logRow("STEP_COMPLETED", key, { dataJson }), logRow("STEP_PLANNED", "next")],
});

const long = (run: SeededRun, mark: string): Transition => longOf(run, "long", textOf(mark));

const longFacts = async ({ runId }: SeededRun): Promise<readonly string[]> =>
  ((await bench.store.loadRuns([runId]))[0]?.log ?? [])
    .filter(({ key }) => key === "long")
    .map(({ dataJson }) => dataJson);

const seed = (on: Store, count: number): Promise<SeededRun[]> =>
  Promise.all(Array.from({ length: count }, () => seedLeased(on)));

test.each([
  ["BEGIN", "toServer"],
  // In the middle of what is sent: some rows were read by the server, the others were not.
  ["cut-here", "toServer"],
  ["COMMIT", "toServer"],
  ["COMMIT", "toClient"],
] as const)(
  "a batch of long rows whose connection breaks at %s, %s, is stored once and whole",
  async (at, direction) => {
    const runs = await seed(store, 7);
    const cuts = proxy.cuts;
    proxy.cutAt(direction, at);
    const outcomes = await Promise.all(
      runs.map((run, index) => store.commit(long(run, index === 5 ? "cut-here" : `mark ${index}`))),
    );
    expect(proxy.cuts).toBe(cuts + 1);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ won: true, inserted: [true, true] });
    for (const [index, run] of runs.entries()) {
      expect(await longFacts(run)).toEqual([textOf(index === 5 ? "cut-here" : `mark ${index}`)]);
    }
  },
);

test("facts that another gateway has written meanwhile turn a batch of long rows to locks; what is new is kept", async () => {
  const runs = await seed(bench.store, 8);
  const [first] = await bench.store.loadRuns([runs[0]?.runId ?? ""]);
  const seen = first?.log.at(-1)?.seq ?? 0;
  const [ours] = runs as [SeededRun, ...SeededRun[]];
  // The other gateway has one of the facts; the batch has seen the log before.
  await bench.another().commit(long(ours, "theirs"));
  const outcomes = await Promise.all(
    runs.map((run) => bench.store.commit({ ...long(run, "ours"), ...(run === ours ? { seen } : {}) })),
  );
  expect(outcomes[0]).toMatchObject({ won: true, inserted: [false, false] });
  for (const outcome of outcomes.slice(1)) expect(outcome).toMatchObject({ won: true, inserted: [true, true] });
  expect(await longFacts(ours)).toEqual([textOf("theirs")]);
  for (const run of runs.slice(1)) expect(await longFacts(run)).toEqual([textOf("ours")]);
});

test("of two decisions with long facts on one version one wins, and nothing of the other is stored", async () => {
  const runs = await seed(bench.store, 8);
  const other = bench.another();
  const decide = (on: Store, run: SeededRun, mark: string) =>
    on.commit({ ...long(run, mark), fence: null, cas: 1, head: { status: "RUNNING" } });
  const outcomes = await Promise.all(
    runs.map((run) => Promise.all([decide(bench.store, run, "one"), decide(other, run, "two")])),
  );
  for (const [index, run] of runs.entries()) {
    const won = outcomes[index]?.map((outcome) => outcome.won) ?? [];
    expect(won.filter(Boolean)).toHaveLength(1);
    expect(await longFacts(run)).toEqual([textOf(won[0] ? "one" : "two")]);
  }
});

test.each([
  ["put together", (run: SeededRun) => longOf(run, "long", `"\u001d${"x".repeat(MEGABYTE)}"`)],
  ["stored", (run: SeededRun) => longOf(run, "refused", textOf("refused"))],
])("a long text that cannot be %s fails alone, and the session goes on", async (_, refused) => {
  await bench.db.sql`ALTER TABLE holdfast.run_log ADD CONSTRAINT no_refused CHECK (facts NOT LIKE '%refused%')`;
  const runs = await seed(bench.store, 4);
  const results = await Promise.allSettled(
    runs.map((run, index) => bench.store.commit(index === 2 ? refused(run) : long(run, "fine"))),
  );
  await bench.db.sql`ALTER TABLE holdfast.run_log DROP CONSTRAINT no_refused`;
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
  expect(await Promise.all(runs.map(longFacts))).toEqual([[textOf("fine")], [textOf("fine")], [], [textOf("fine")]]);
});

test("long rows have numbers of their batch, in the order of its facts", async () => {
  const run = await seedLeased(bench.store);
  const outcomes = await Promise.all([
    bench.store.commit({ ...stepDone(run, "short"), log: [logRow("STEP_COMPLETED", "short")] }),
    bench.store.commit(long(run, "one")),
    bench.store.commit({ ...stepDone(run, "late"), log: [logRow("STEP_COMPLETED", "late")] }),
  ]);
  const seqs = outcomes.map((outcome) => (outcome.won ? outcome.seq : null));
  const [stored] = await bench.store.loadRuns([run.runId]);
  const rows = stored?.log ?? [];
  const seqOf = (key: string): number | undefined => rows.find((row) => row.key === key)?.seq;
  expect(["short", "long", "late"].map(seqOf)).toEqual(seqs);
  expect([...seqs].sort((a, b) => Number(a) - Number(b))).toEqual(seqs);
});

test("a batch of events with long payloads is stored once, also when its connection breaks among them", async () => {
  const events = Array.from({ length: 6 }, (_, index) => ({
    id: newId(),
    name: "long/event",
    tsMs: 1,
    payloadJson: textOf(index === 4 ? "event-cut" : `event ${index}`),
  }));
  const cuts = proxy.cuts;
  proxy.cutAt("toServer", "event-cut");
  await store.intake(events.map((event) => ({ event, runs: [] })));
  expect(proxy.cuts).toBe(cuts + 1);
  const stored = await Promise.all(events.map(({ id }) => bench.store.getEvent(id)));
  expect(stored.map((event, index) => event?.payloadJson === events[index]?.payloadJson)).toEqual(
    events.map(() => true),
  );
});
