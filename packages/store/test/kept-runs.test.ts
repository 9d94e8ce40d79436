import { expect, test } from "vitest";
import { Tables, type TableWatch, type Unit } from "../src/index.ts";
import { KeptRuns } from "../src/memory/kept-runs.ts";
import { NO_WATCH } from "../src/memory/rows.ts";
import { logRow, newId, newRun } from "./contract/harness.ts";

const MOST = 20;

/** Tables that count how many runs are looked at to find those that may be forgotten. */
class CountedTables extends Tables {
  readonly #kept: KeptRuns = new KeptRuns(this, MOST);
  looks = 0;

  constructor() {
    super({ clock: { nowMs: () => 1_700_000_000_000, order: () => 0 }, newUuid: String });
  }

  override get runs(): Tables["runs"] {
    this.looks += 1;
    return super.runs;
  }

  protected override get watching(): TableWatch {
    return { ...NO_WATCH, changed: (runIds) => this.#kept.changed(runIds) };
  }

  /** Runs that have ended, one after the other; for the end of each a job waits as long as `needed`. */
  end(count: number, needed: boolean): string[] {
    return Array.from({ length: count }, () => {
      const run = newRun();
      const event = { id: run.eventId, name: run.eventName, tsMs: 1, payloadJson: "{}" };
      const made: Unit = { type: "intake", item: { event, runs: [{ run, log: [logRow("RUN_CREATED")], jobs: [] }] } };
      const job = {
        id: newId(),
        runId: "",
        kind: "child",
        key: run.id,
        functionId: "",
        attempt: 0,
        iteration: 0,
      } as const;
      const transition = {
        runId: run.id,
        fence: null,
        cas: 1,
        log: [logRow("RUN_COMPLETED")],
        head: { status: "COMPLETED" },
        removeJobs: "all",
        addJobs: needed ? [job] : [],
      } as const;
      const outcomes = [...this.commit([made]), ...this.commit([{ type: "transition", transition }])];
      expect(outcomes.map((outcome) => outcome?.type)).toEqual(["intake", "transition"]);
      return run.id;
    });
  }
}

test("ended runs that are needed are looked through again only when a tenth more have ended", () => {
  const tables = new CountedTables();
  const runs = 2_000;
  tables.end(runs, true);
  expect(tables.runs.size).toBe(runs);
  // Twice the geometric sum of the sweeps is far more than it takes; a sweep at each write would be 2 million.
  expect(tables.looks).toBeLessThan(40 * runs);
});

test("ended runs that were needed are forgotten once they are not", () => {
  const tables = new CountedTables();
  const needed = tables.end(100, true);
  tables.end(MOST, false);
  for (const key of needed) tables.jobs.removeKey({ runId: "", kind: "child", key });
  tables.end(100, false);
  const left = [...tables.runs.keys()];
  expect(needed.filter((id) => left.includes(id))).toEqual([]);
  expect(left.length).toBeLessThanOrEqual(Math.ceil(MOST * 1.1) + 1);
});
