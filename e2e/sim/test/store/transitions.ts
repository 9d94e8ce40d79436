import type { LogKind, Transition } from "@holdfast/store";

import type { Dice } from "../../src/random.ts";
import type { Items } from "./items.ts";
import type { Pair } from "./pair.ts";

/** Random transitions of runs that are there. */
export class Transitions {
  readonly #pair: Pair;
  readonly #dice: Dice;
  readonly #items: Items;

  constructor(pair: Pair, dice: Dice, items: Items) {
    this.#pair = pair;
    this.#dice = dice;
    this.#items = items;
  }

  of(runId: string): Transition {
    const dice = this.#dice;
    const row = this.#pair.model.tables.runs.get(runId);
    const jobs = [...(row?.jobs ?? [])];
    const version = row?.head.version ?? 1;
    const job = jobs.length > 0 ? dice.pick(jobs) : undefined;
    const epoch = (job?.epoch ?? 0) + (dice.chance(0.12) ? -1 : 0);
    const fence = job && dice.chance(0.6) ? { jobId: job.id, epoch } : null;
    const nothing = { runId, fence, removeJobs: [], addJobs: [] } as const;
    const results = (): Transition["log"] =>
      Array.from({ length: dice.between(1, 3) }, () => this.#items.row("STEP_COMPLETED", dice.pick(["a", "b", "c"])));
    // No one writes about a run without a look at its head or its job, unless it is there.
    const roll = row ? dice.random() : 1;
    if (roll < 0.3) return { ...nothing, cas: null, log: results() };
    if (roll < 0.33) return { ...nothing, cas: null, log: results(), removeJobs: "all" };
    const cas = dice.pick([version, version, version, version - 1, "live"] as const);
    if (roll < 0.48) return this.#end(nothing, cas);
    if (roll < 0.54) {
      const { run, log, jobs: addJobs, waits: addWaits = [] } = this.#items.run(false);
      const create = dice.chance(0.8) ? run : { ...run, id: runId };
      const own = addJobs.map((one) => ({ ...one, runId: create.id }));
      const waits = addWaits.map((one) => ({ ...one, runId: create.id }));
      return { runId: create.id, fence: null, cas: null, create, log, removeJobs: [], addJobs: own, addWaits: waits };
    }
    const revives = roll < 0.62 ? ({ revives: true } as const) : {};
    const log = dice.chance(0.3) ? results() : [this.#items.row("STEP_WAITING", "a", { iteration: version })];
    const removed = jobs.filter(() => dice.chance(0.3)).map(({ id }) => id);
    const kept = dice.chance(0.1) ? [this.#items.id("j")] : [];
    const head = dice.chance(0.7) ? { head: { status: dice.pick(["WAITING", "RUNNING"] as const) } } : {};
    const pinned = dice.chance(0.1) ? { head: { status: "RUNNING", appVersion: "2" } as const } : head;
    const functionId = row?.head.functionId ?? "f0";
    return {
      ...nothing,
      ...revives,
      ...pinned,
      cas,
      log,
      removeJobs: dice.chance(0.1) ? "all" : [...removed, ...kept],
      ...(dice.chance(0.3) ? { endsJobs: [this.#jobOfNoRun()] } : {}),
      addJobs: dice.chance(0.7) ? [this.#items.job(runId, functionId)] : [],
      ...(dice.chance(0.4) ? { addWaits: [this.#items.wait(runId, dice.pick(["a", "b"]))] } : {}),
      ...(dice.chance(0.3) ? { removeWaits: dice.pick(["all", ["a"], ["a", "b"]] as const) } : {}),
      ...(dice.chance(0.25) ? { events: [{ ...this.#items.item(), windows: [] }].map(withoutKey) } : {}),
    };
  }

  /** Of an event, a window or the like; where there is none, one that is over. */
  #jobOfNoRun(): string {
    const jobs = [...this.#pair.model.tables.queue.values()].filter(({ runId }) => runId === "");
    return jobs.length > 0 ? this.#dice.pick(jobs).id : this.#items.id("j");
  }

  #end(base: Pick<Transition, "runId" | "fence" | "addJobs">, cas: Transition["cas"]): Transition {
    const status = this.#dice.pick(["COMPLETED", "FAILED", "CANCELLED"] as const);
    const kind: LogKind = `RUN_${status}`;
    const head = status === "COMPLETED" ? { status, outputJson: '"done"' } : { status, errorJson: '{"name":"E"}' };
    return { ...base, cas, log: [this.#items.row(kind)], head, removeJobs: "all", removeWaits: "all" };
  }
}

/** Events that happen with a decision carry no keys. */
const withoutKey = <T extends { readonly event: object }>(item: T): T => {
  return { ...item, event: { ...item.event, idempotencyKey: null } };
};
