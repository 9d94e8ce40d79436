import { describe, expect, it } from "vitest";
import type { FlowRule, IntakeItem } from "../../src/index.ts";
import { type ContractBench, logRow, newId, newRun, passJob, seedRun } from "./harness.ts";

export const eventItem = (key: string | null, name = "shop/order", functions = ["one", "two"]): IntakeItem => {
  const eventId = newId();
  return {
    event: { id: eventId, name, idempotencyKey: key, tsMs: 1_700_000_000_123, payloadJson: `{"data":"${eventId}"}` },
    runs: functions.map((functionId) => {
      const run = newRun({ functionId, eventId, eventName: name });
      return { run, log: [logRow("RUN_CREATED"), logRow("DISPATCHED")], jobs: [passJob(run.id, { functionId })] };
    }),
  };
};

export function intakeContract(bench: ContractBench): void {
  describe("Events", () => {
    it("an event that is stored only if it starts a run leaves nothing when its flow rules skip it, and its key is free", async () => {
      const item = (key: string): IntakeItem => {
        const made = eventItem(key, "shop/asked", ["asked"]);
        const flowRules: FlowRule[] = [{ type: "single", functionId: "asked", key: "k", mode: "skip", jobId: newId() }];
        return { ...made, ifStarts: true, runs: made.runs.map((run) => ({ ...run, flowRules })) };
      };
      const [first, second, same] = [item("a"), item("b"), item("b")];
      const started = await bench.store.intake([first]);
      expect(started).toMatchObject([{ skipped: [], skippedBy: [] }]);
      const runId = first.runs[0]?.run.id ?? "";
      const outcomes = await bench.store.intake([second, same]);
      expect(outcomes[0]).toMatchObject({ skippedBy: [{ rule: "single", runId }], duplicate: false });
      // What was to share its key is decided anew.
      expect(outcomes[1]?.outdated === true || outcomes[1]?.skippedBy[0]?.runId === runId).toBe(true);
      expect(await bench.store.getEvent(second.event.id)).toBeNull();
      expect(await bench.store.endsOf([runId, "01JZ0000000000000000000000"])).toEqual([
        { id: runId, functionId: "asked", isEnded: false },
      ]);
      await bench.store.commit({
        runId,
        fence: null,
        cas: "live",
        log: [logRow("RUN_CANCELLED", "", { dataJson: '{"error":{"name":"Error","message":"x"}}' })],
        head: { status: "CANCELLED", errorJson: '{"name":"Error","message":"x"}' },
        removeJobs: "all",
        addJobs: [],
      });
      expect(await bench.store.endsOf([runId])).toMatchObject([{ isEnded: true }]);
      expect(await bench.store.intake([item("b")])).toMatchObject([{ duplicate: false, skipped: [], outdated: false }]);
    });

    it("events are stored with the runs they trigger", async () => {
      const one = eventItem(null);
      const none = eventItem(null, "shop/unheard", []);
      const outcomes = await bench.store.intake([one, none]);
      expect(outcomes).toMatchObject([
        { eventId: one.event.id, duplicate: false },
        { eventId: none.event.id, duplicate: false },
      ]);
      const event = await bench.store.getEvent(one.event.id);
      expect(event).toMatchObject({ name: "shop/order", tsMs: 1_700_000_000_123, payloadJson: one.event.payloadJson });
      expect(event?.runIds).toEqual(one.runs.map(({ run }) => run.id));
      const runs = await bench.store.loadRuns(event?.runIds ?? []);
      expect(runs.map(({ head }) => head.status)).toEqual(["PENDING", "PENDING"]);
      expect((await bench.store.listRuns({ eventIds: [one.event.id], limit: 10 })).runs).toHaveLength(2);
      expect((await bench.store.getEvent(none.event.id))?.runIds).toEqual([]);
    });

    it("an event whose key was seen before starts nothing and reports the first event", async () => {
      const first = eventItem("order-1");
      const again = eventItem("order-1");
      const otherName = eventItem("order-1", "shop/refund");
      await bench.store.intake([first]);
      expect(await bench.store.intake([again, otherName])).toMatchObject([
        { eventId: first.event.id, duplicate: true },
        { eventId: otherName.event.id, duplicate: false },
      ]);
      expect(await bench.store.loadRuns(again.runs.map(({ run }) => run.id))).toEqual([]);
      expect(await bench.store.getEvent(again.event.id)).toBeNull();
    });

    it("events that may come again are duplicates where they are stored, and the others of the request are not", async () => {
      const [first, second, third] = [eventItem(null), eventItem("repeated-1"), eventItem(null)].map((item) => ({
        ...item,
        mayRepeat: true,
      })) as [IntakeItem, IntakeItem, IntakeItem];
      const idsOf = ({ runs }: IntakeItem): string[] => runs.map(({ run }) => run.id);
      const again = (item: IntakeItem): IntakeItem => ({ ...eventItem(null), event: item.event, mayRepeat: true });
      await bench.store.intake([first, second]);
      const repeats = [again(first), again(second)] as const;
      expect(await bench.another().intake([...repeats, third])).toMatchObject([
        { eventId: first.event.id, duplicate: true, seq: null, awaited: false },
        { eventId: second.event.id, duplicate: true, seq: null, awaited: false },
        { eventId: third.event.id, duplicate: false },
      ]);
      for (const item of [first, second, third]) {
        expect((await bench.store.getEvent(item.event.id))?.runIds).toEqual(idsOf(item));
      }
      expect(await bench.store.loadRuns(repeats.flatMap(idsOf))).toEqual([]);
      const ids = [first, second, third].map(({ event }) => event.id);
      expect([...(await bench.store.storedEvents([...ids, newId()]))].sort()).toEqual(ids.sort());
      expect(await bench.store.storedEvents([])).toEqual([]);
    });

    it("events with one key, in one request or at two gateways concurrently, are one event", async () => {
      const other = bench.another();
      const items = Array.from({ length: 12 }, () => eventItem("order-2"));
      const outcomes = (
        await Promise.all([bench.store.intake(items.slice(0, 6)), other.intake(items.slice(6))])
      ).flat();
      expect(outcomes.filter((outcome) => !outcome.duplicate)).toHaveLength(1);
      const [eventId, ...others] = new Set(outcomes.map((outcome) => outcome.eventId));
      expect(others).toEqual([]);
      expect((await bench.store.listRuns({ eventIds: [eventId ?? ""], limit: 10 })).runs).toHaveLength(2);
    });

    it("an event is found by the id that its sender gave, under its own name", async () => {
      const [key, name] = [newId(), `shop/${newId()}`];
      const item = eventItem(key, name, []);
      await bench.store.intake([item, eventItem(newId(), name, [])]);
      expect(
        await bench.store.eventsOfKeys([
          { name, key },
          { name: "shop/other", key },
        ]),
      ).toEqual([item.event.id]);
      expect(await bench.store.eventsOfKeys([])).toEqual([]);
    });

    it("events are listed newest first, page by page", async () => {
      const names = [1, 2, 3, 4, 5].map(() => eventItem(null, "shop/listed", []));
      await bench.store.intake(names);
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await bench.store.listEvents({ name: "shop/listed", limit: 2, ...(cursor ? { cursor } : {}) });
        seen.push(...page.events.map((event) => event.id));
        cursor = page.nextCursor ?? undefined;
      } while (cursor);
      expect(seen).toEqual(names.map(({ event }) => event.id).reverse());
    });
  });

  describe("Wake-ups", () => {
    it("a job due at once wakes other stores, but not its sender, and not when leased on creation", async () => {
      const other = bench.another();
      const heard: string[] = [];
      const own: string[] = [];
      let ready: (() => void) | undefined;
      const listening = new Promise<void>((resolve) => {
        ready = resolve;
      });
      const all = new Promise<void>((resolve) => {
        other.onWake((wake) => {
          if (wake.type === "ANYTHING") ready?.();
          if (wake.type === "JOBS_DUE") heard.push(...wake.functionIds);
          if (wake.type === "RUNS_ENDED") heard.push(...wake.runIds);
          if (heard.includes("run-9")) resolve();
        });
      });
      bench.store.onWake((wake) => {
        if (wake.type === "JOBS_DUE") own.push(...wake.functionIds);
      });
      await listening;
      await seedRun(bench.store, {
        run: { functionId: "asleep" },
        job: { lease: { gatewayId: "g", leaseMs: 60_000 } },
      });
      await seedRun(bench.store, { run: { functionId: "much-later" }, job: { delayMs: 3_600_000 } });
      await seedRun(bench.store, { run: { functionId: "awake" } });
      bench.store.notify({ type: "RUNS_ENDED", runIds: ["run-9"] });
      await all;
      expect(heard).toEqual(["awake", "run-9"]);
      expect(own).toEqual([]);
    });
  });
}
