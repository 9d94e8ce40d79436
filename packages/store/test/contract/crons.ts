/** The contract's part about schedules, their jobs and their repair. */
import { describe, expect, it } from "vitest";
import type {
  AppRecord,
  ClaimedJob,
  IntakeItem,
  IntakeOutcome,
  NewCron,
  RegisteredCron,
  Store,
} from "../../src/index.ts";
import { type ContractBench, logRow, newId, newRun, passJob } from "./harness.ts";

const CRON = "* * * * *";
const TRIGGERS = '[{"cron":"* * * * *"}]';
const MINUTE_MS = 60_000;

function itemOf(functionId: string, source: NonNullable<IntakeItem["source"]>): IntakeItem {
  const run = newRun({ functionId });
  const event = { id: run.eventId, name: "shop/order", tsMs: 1, payloadJson: "{}" };
  const jobs = [passJob(run.id, { functionId })];
  return { event, source, runs: [{ run, log: [logRow("RUN_CREATED"), logRow("DISPATCHED")], jobs, flowRules: [] }] };
}

const intake = async (store: Store, item: IntakeItem): Promise<IntakeOutcome> =>
  ((await store.intake([item])) as [IntakeOutcome])[0];

export function cronsContract(bench: ContractBench): void {
  /** An app whose schedules are due since a minute ago, so that each job can be claimed. */
  function newApp() {
    const id = `app-${newId()}`;
    const tickMs = Date.now() - MINUTE_MS;
    const cron = (functionId: string): NewCron => {
      return { functionId, appId: id, cron: CRON, jitterMs: 0, tickMs, dueMs: tickMs, jobId: newId() };
    };
    const read = (functionId: string): RegisteredCron => ({ ...cron(functionId), triggersJson: TRIGGERS });
    const record = (version: string, slugs: readonly string[], triggersJson = TRIGGERS): AppRecord => {
      const functions = slugs.map((slug) => ({ slug, name: slug, triggersJson, configJson: "{}" }));
      return { id, version, sdk: "test", functions };
    };
    /** Its jobs, claimed for no time: they can be claimed again at once. */
    const jobs = async (store = bench.store): Promise<ClaimedJob[]> => {
      const wants = [{ functionId: "", limit: 1000 }];
      const claimed = await store.claim({ gatewayId: "gateway-a", leaseMs: 0, wants });
      const own = claimed.filter(({ kind, key }) => kind === "cron" && key.startsWith(`${id}-`));
      return own.sort((a, b) => (a.key < b.key ? -1 : 1));
    };
    const [one, two] = [`${id}-one`, `${id}-two`];
    /** Functions that have a schedule, and those that have its job; the same, always. */
    const scheduled = async (): Promise<string[]> => {
      const withJob = (await jobs()).map(({ key }) => key.replace(`\n${CRON}`, ""));
      const known = await Promise.all([one, two].map((fn) => bench.store.loadCron(fn, CRON)));
      expect(withJob).toEqual(known.flatMap((cron) => cron?.functionId ?? []));
      return withJob;
    };
    return { id, one, two, tickMs, cron, read, record, jobs, scheduled };
  }

  describe("Schedules", () => {
    it("schedules are listed with their next tick, and with when its job is due", async () => {
      const { id, one, two, tickMs, cron } = newApp();
      const dueMs = tickMs + 3_600_000;
      await bench.store.saveCrons([id], [], [cron(two), { ...cron(one), dueMs }]);
      const listed = (await bench.store.listCrons()).filter(({ functionId }) => functionId.startsWith(id));
      expect(listed).toEqual([
        { functionId: one, cron: CRON, tickMs, dueMs },
        { functionId: two, cron: CRON, tickMs, dueMs: expect.any(Number) },
      ]);
      await bench.store.saveCrons([id], [], []);
    });

    it("each schedule has one job, which moves with its tick and is removed with its registration", async () => {
      const { id, one, two, tickMs, cron, jobs, scheduled } = newApp();
      const stores = [bench.store, bench.another()];
      await Promise.all(stores.map((store) => store.saveCrons([id], [], [cron(one), cron(two)])));
      expect(await scheduled()).toEqual([one, two]);
      expect(await bench.store.loadCron(one, CRON)).toMatchObject({ tickMs });
      const [job] = await jobs();
      const fence = { jobId: job?.id ?? "", epoch: job?.epoch ?? 0 };
      const nextMs = tickMs + 1_000;
      const next = { tickMs: nextMs, dueMs: nextMs, jobId: newId() };
      const source = { fence, cron: { functionId: one, cron: CRON, next } };
      expect(await intake(bench.store, itemOf(one, source))).toMatchObject({ lost: false });
      expect(await intake(bench.store, itemOf(one, source))).toMatchObject({ lost: true });
      expect(await bench.store.loadCron(one, CRON)).toMatchObject({ tickMs: nextMs });
      expect(await scheduled()).toEqual([one, two]);
      await bench.store.saveCrons([id], [], [cron(two)]);
      expect(await scheduled()).toEqual([two]);
      expect(await bench.store.loadCron(one, CRON)).toBeNull();
      await bench.store.saveCrons([id], [], []);
      expect(await scheduled()).toEqual([]);
    });

    it("of two stores that claim at once one gets the job of a tick", async () => {
      const { id, one, cron } = newApp();
      await bench.store.saveCrons([id], [], [cron(one)]);
      const wants = [{ functionId: "", limit: 100 }];
      const claims = await Promise.all(
        [bench.store, bench.another()].map((store) => store.claim({ gatewayId: "g", leaseMs: MINUTE_MS, wants })),
      );
      const keys = claims.flat().flatMap(({ kind, key }) => (kind === "cron" && key.startsWith(one) ? key : []));
      expect(keys).toEqual([`${one}\n${CRON}`]);
      await bench.store.saveCrons([id], [], []);
    });

    it("a repair recreates missing schedules and leaves existing ones unchanged", async () => {
      const { id, one, two, cron, read, record, jobs, scheduled } = newApp();
      const functions = await bench.store.saveApps([record("1", [one, two])]);
      await bench.store.saveCrons([id], functions, [cron(one), cron(two)]);
      const ids = async () => (await jobs()).map((job) => job.id);
      const before = await ids();
      expect(before).toHaveLength(2);
      await bench.store.repairCrons([read(one), read(two)]);
      expect(await ids()).toEqual(before);
      await bench.store.saveCrons([id], functions, []);
      expect(await scheduled()).toEqual([]);
      await bench.store.repairCrons([read(one), read(two)]);
      expect(await scheduled()).toEqual([one, two]);
      await bench.store.saveCrons([id], functions, []);
    });

    it("a repair does not recreate a removed schedule, or one of a removed function", async () => {
      const { one, two, read, record, scheduled } = newApp();
      await bench.store.saveApps([record("1", [one, two])]);
      await bench.store.saveApps([record("2", [one], "[]")]);
      await bench.store.repairCrons([read(one), read(two)]);
      expect(await scheduled()).toEqual([]);
    });

    it("late schedules of replaced functions change nothing", async () => {
      const { id, one, two, cron, record, scheduled } = newApp();
      const late = await bench.store.saveApps([record("1", [one, two])]);
      const functions = await bench.store.saveApps([record("2", [one])]);
      await bench.store.saveCrons([id], functions, [cron(one)]);
      await bench.store.saveCrons([id], late, [cron(two)]);
      expect(await scheduled()).toEqual([one]);
      const third = await bench.store.saveApps([record("3", [one], "[]")]);
      await bench.store.saveCrons([id], functions, [cron(one), cron(two)]);
      await bench.store.saveCrons([id], third, []);
      expect(await scheduled()).toEqual([]);
    });
  });
}
