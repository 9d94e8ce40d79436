import { FAILURE_KEY } from "@holdfast/engine";
import type { ExecutorRequest } from "@holdfast/protocol";
import type {
  ClaimedJob,
  CommitOutcome,
  IntakeItem,
  IntakeOutcome,
  NewJob,
  Store,
  StoredRun,
  Transition,
} from "@holdfast/store";

import type { Payload } from "../server/raw-worker.ts";
import type { Carried } from "./held-store.ts";
import { UNDO_KEY } from "./worker.ts";

interface Seen {
  /** When its steps were settled, by key. */
  readonly settled: Map<string, number>;
  /** When its steps began to wait for an event or a signal. */
  readonly waits: Map<string, number>;
}

/** What happened, in the order in which the database carried it out, and what is wrong with it. */
export class Witness {
  readonly broken: string[] = [];
  readonly #runs = new Map<string, Seen>();
  /** When each dispatch was made. */
  readonly #given = new Map<string, number>();
  readonly #sent = new Set<string>();
  /** The newest dispatch of each job. */
  readonly #epochs = new Map<string, number>();
  readonly #events: { readonly id: string; readonly at: number }[] = [];
  readonly #bodies = new Map<string, number>();
  readonly #signals: { readonly data: string; readonly runId: string | null }[] = [];
  readonly #cancels: { readonly runId: string; readonly outcome: string }[] = [];
  /** When time was first moved: from then on waits may time out. */
  #moved = Number.POSITIVE_INFINITY;

  get runIds(): string[] {
    return [...this.#runs.keys()];
  }

  carried({ method, args, result, at }: Carried): void {
    if (method === "commit") this.#committed(args[0] as Transition, result as CommitOutcome, at);
    if (method === "intake") {
      const [items, outcomes] = [args[0] as IntakeItem[], result as IntakeOutcome[]];
      for (const [index, item] of items.entries()) if (!outcomes[index]?.duplicate) this.#took(item, at);
    }
    if (method === "claim") for (const { id, epoch } of result as ClaimedJob[]) this.#give(id, epoch, at);
  }

  timeMoves(at: number): void {
    this.#moved = Math.min(this.#moved, at);
  }

  signalled(data: string, runId: string | null): void {
    this.#signals.push({ data, runId });
  }

  cancelled(runId: string, outcome: string): void {
    this.#cancels.push({ runId, outcome });
  }

  given({ requestId, runId }: ExecutorRequest, memo: Payload["steps"]): void {
    if (this.#sent.has(requestId)) this.broken.push(`${requestId} was sent twice`);
    this.#sent.add(requestId);
    const at = this.#given.get(requestId);
    if (at === undefined) this.broken.push(`${requestId} was sent, but never made`);
    for (const [key, settled] of this.#run(runId).settled) {
      // Who only undoes needs what can be undone; other steps do not raise the version that the run was failed on.
      if (FAILURE_KEY in memo && key !== "undoable") continue;
      if (settled < (at ?? 0) && !(key in memo)) {
        this.broken.push(`${requestId}, made at ${at}, lacks step ${key}, which was stored at ${settled}`);
      }
    }
  }

  ran(runId: string, stepId: string): void {
    this.#bodies.set(`${runId} ${stepId}`, (this.#bodies.get(`${runId} ${stepId}`) ?? 0) + 1);
  }

  /** An event for which a run waited when it came has ended its wait by now; no time has run out. */
  checkEvents(): void {
    for (const [runId, { settled, waits }] of this.#runs) {
      const since = waits.get("event");
      const came = this.#events.find(({ at }) => since !== undefined && at > since);
      const over = settled.has("event") || settled.has("ended");
      if (came && !over && came.at < this.#moved)
        this.broken.push(`${runId} was not told of ${came.id}, which came at ${came.at}`);
    }
  }

  async checkEnds(store: Store): Promise<void> {
    for (const run of await store.loadRuns(this.runIds)) {
      this.broken.push(...[...this.#wrongWith(run)].map((what) => `run ${run.head.id} (${run.head.status}): ${what}`));
    }
  }

  *#wrongWith({ head, log }: StoredRun): Iterable<string> {
    const seen = this.#run(head.id);
    const ends = log.filter(({ kind }) => /^RUN_(COMPLETED|FAILED|CANCELLED)$/.test(kind));
    if (ends.length !== 1) yield `it has ${ends.length} ends`;
    const results = new Map<string, string>();
    for (const { kind, key, dataJson } of log) {
      if (kind !== "STEP_COMPLETED" && kind !== "STEP_FAILED") continue;
      if (results.has(key)) yield `step ${key} is settled twice`;
      results.set(key, dataJson);
    }
    for (const { outcome, runId } of this.#cancels) {
      if (runId === head.id && outcome === "won" && head.status !== "CANCELLED") yield "its cancellation was confirmed";
    }
    const undoable = results.has("undoable");
    if (head.status === "FAILED" && undoable && !results.has(FAILURE_KEY)) yield "it failed without undoing anything";
    if (head.status === "FAILED" && undoable && !results.has(UNDO_KEY)) yield "what it did was not undone";
    if (results.has(UNDO_KEY) && !this.#bodies.has(`${head.id} ${UNDO_KEY}`)) yield "nothing was undone in truth";
    for (const id of ["body", "more", "undoable", "last"]) {
      if (results.has(id) && !this.#bodies.has(`${head.id} ${id}`)) yield `step ${id} never ran`;
    }
    yield* this.#wrongWaits(head.id, seen, results);
  }

  *#wrongWaits(runId: string, { settled, waits }: Seen, results: ReadonlyMap<string, string>): Iterable<string> {
    const eventAt = settled.get("event");
    const text = results.get("event");
    if (eventAt !== undefined && text !== undefined) {
      const came = this.#events.find(({ id }) => text.includes(id));
      const since = waits.get("event") ?? Number.POSITIVE_INFINITY;
      if (came && came.at < since) yield `its wait of ${since} ended by an event of ${came.at}`;
      if (!came && !(this.#moved < eventAt))
        yield `its wait ended at ${eventAt}, before its time and without an event: ${text}`;
    }
    for (const key of ["sleep", "child", "signal"]) {
      const at = settled.get(key);
      const early = at !== undefined && !(this.#moved < at);
      if (key === "sleep" && early) yield `its sleep ended at ${at}, before its time`;
      if (
        key === "child" &&
        early &&
        !results.get(key)?.includes("packed") &&
        !results.get(key)?.includes("RUN_CANCELLED")
      )
        yield `its child's result was ${results.get(key)}`;
    }
    for (const signal of this.#signals) {
      const got = results.get("signal")?.includes(signal.data) === true;
      if (got !== (signal.runId === runId)) yield `signal ${signal.data} was said to be with ${signal.runId}`;
    }
  }

  #committed(transition: Transition, outcome: CommitOutcome, at: number): void {
    if (!outcome.won) return;
    const { runId, fence, log, addJobs, addWaits = [], events = [], head } = transition;
    if (fence && fence.epoch !== (this.#epochs.get(fence.jobId) ?? 0)) {
      this.broken.push(
        `dispatch ${fence.epoch} of ${fence.jobId} wrote at ${at}, after the next one had been given out`,
      );
    }
    const run = this.#run(runId);
    for (const [index, { kind, key }] of log.entries()) {
      if (!outcome.inserted[index] || (kind !== "STEP_COMPLETED" && kind !== "STEP_FAILED")) continue;
      run.settled.set(key, at);
    }
    if (head && /COMPLETED|FAILED|CANCELLED/.test(head.status)) run.settled.set("ended", at);
    for (const { key } of addWaits) run.waits.set(key, at);
    this.#born(addJobs, at);
    for (const item of events) this.#took(item, at);
  }

  #took({ event, runs }: IntakeItem, at: number): void {
    if (event.name === "shop/paid" && event.payloadJson.includes('"counts":true'))
      this.#events.push({ id: event.id, at });
    for (const { run, jobs } of runs) {
      this.#run(run.id);
      this.#born(jobs, at);
    }
  }

  #born(jobs: readonly NewJob[], at: number): void {
    for (const { id, lease } of jobs) if (lease) this.#give(id, 1, at);
  }

  #give(jobId: string, epoch: number, at: number): void {
    const requestId = `${jobId}.${epoch}`;
    if (this.#given.has(requestId))
      this.broken.push(`${requestId} was given out at ${this.#given.get(requestId)} and at ${at}`);
    this.#given.set(requestId, at);
    this.#epochs.set(jobId, epoch);
  }

  #run(runId: string): Seen {
    const known = this.#runs.get(runId);
    if (known) return known;
    const made = { settled: new Map<string, number>(), waits: new Map<string, number>() };
    this.#runs.set(runId, made);
    return made;
  }
}
