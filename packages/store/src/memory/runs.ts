/** The tables of runs and their logs; a run's jobs and waits hang on it. */
import type { NewWait } from "../port/events.ts";
import type { RunFilter, RunPage } from "../port/reads.ts";
import type { RunHead, StoredLogRow } from "../port/work.ts";
import { environmentOf } from "../rules/environment.ts";
import { LOG_BLOCK, placesOf } from "../rules/log-places.ts";
import { upToPageBytes } from "../rules/page-bytes.ts";
import type { HeadWrite, LogWrite, RunWrite } from "../rules/write-set.ts";
import { Changes } from "./changes.ts";
import { byText, type JobRow, type RunRow, rowKey, type TableClock, type TableWatch } from "./rows.ts";
import { Waits } from "./waits.ts";

/** Heads and logs; each run's jobs and waits hang on it. */
export class Runs {
  readonly rows = new Map<string, RunRow>();
  readonly waits: Waits;
  readonly changes: Changes;
  readonly #clock: TableClock;
  readonly #watch: () => TableWatch;
  #nextSeq = 1;

  constructor(clock: TableClock, watch: () => TableWatch) {
    this.#clock = clock;
    this.#watch = watch;
    this.waits = new Waits(this.rows, clock);
    this.changes = new Changes(clock.nowMs(), this.rows);
  }

  isLive(runId: string): boolean {
    return this.rows.get(runId)?.head.endedMs === null;
  }

  insert({ run, status }: RunWrite): void {
    const nowMs = this.#clock.nowMs();
    const head: RunHead = {
      id: run.id,
      functionId: run.functionId,
      appId: run.appId,
      appVersion: run.appVersion,
      status,
      version: 1,
      eventId: run.eventId,
      eventName: run.eventName,
      deadlineMs: run.deadlineMs ?? null,
      outputJson: null,
      errorJson: null,
      createdMs: nowMs,
      startedMs: status === "RUNNING" ? nowMs : null,
      endedMs: null,
    };
    this.rows.set(run.id, { head, log: [], keys: new Map(), jobs: new Set(), waits: new Map(), hold: null });
    this.#watch().created(head);
  }

  /** Adds a batch's rows, whose facts are new, to the logs; returns the `seq` of each. */
  log(rows: readonly LogWrite[]): number[] {
    const base = this.#nextSeq;
    this.#nextSeq += LOG_BLOCK;
    const seqs = placesOf(rows).map((place) => base + place);
    for (const [index, row] of rows.entries()) this.#logRow(row, seqs[index] ?? base);
    return seqs;
  }

  #logRow({ runId, facts, version: headVersion, status: headStatus }: LogWrite, seq: number): void {
    const run = this.rows.get(runId);
    const atMs = this.#clock.nowMs();
    for (const fact of run ? facts : []) {
      const stored: StoredLogRow = { ...fact, seq, atMs, headVersion, headStatus };
      run?.keys.set(rowKey(fact), stored);
      run?.log.push(stored);
      this.#watch().logged(runId, stored);
    }
    if (run && facts.length > 0) this.changes.add({ runId, seq, atMs, status: headStatus, facts });
  }

  /** The rows of a run's log after `seen`. */
  newerThan(runId: string, seen: number): readonly number[] {
    const log = this.rows.get(runId)?.log ?? [];
    const first = log.findLastIndex((row) => row.seq <= seen) + 1;
    return first === log.length ? [] : [...new Set(log.slice(first).map(({ seq }) => seq))];
  }

  /** What a claim notes of a lease that had ended, or was returned as lost. */
  noteLost(job: JobRow): void {
    if (job.runId === "") return;
    const { kind, key, id, attempt, epoch: iteration, leasedBy: gatewayId } = job;
    const dataJson = JSON.stringify({ kind, key, gatewayId });
    const fact = { kind: "LEASE_LOST", key: id, attempt, iteration, dataJson } as const;
    if (this.rows.get(job.runId)?.keys.has(rowKey(fact))) return;
    this.log([{ runId: job.runId, facts: [fact], version: null, status: null }]);
  }

  updateHead(write: HeadWrite): void {
    const run = this.rows.get(write.runId);
    if (!run) return;
    const { head } = run;
    const job = [...run.jobs].find(({ id }) => id === write.jobId);
    const startedMs = head.startedMs ?? job?.claimedMs ?? this.#clock.nowMs();
    run.head = {
      ...head,
      version: write.version,
      status: write.status,
      startedMs: write.status === "PENDING" ? head.startedMs : startedMs,
      endedMs: write.ended ? this.#clock.nowMs() : null,
      outputJson: write.output,
      errorJson: write.error,
      appVersion: write.appVersion ?? head.appVersion,
      deadlineMs: write.deadlineMs === undefined ? head.deadlineMs : write.deadlineMs,
    };
  }

  /** Its work is lost before a commit said that it had begun. */
  keepStart({ runId, kind, claimedMs }: JobRow): void {
    const run = this.rows.get(runId);
    if (!run || run.head.startedMs !== null || (kind !== "pass" && kind !== "step")) return;
    run.head = { ...run.head, startedMs: claimedMs };
  }

  insertWait(wait: NewWait): void {
    const run = this.rows.get(wait.runId);
    if (run) this.waits.insert(run, wait);
  }

  /** As people see it: a run with leased work is running. */
  shown({ head, jobs }: RunRow): RunHead {
    const nowMs = this.#clock.nowMs();
    const leased = [...jobs].filter((job) => job.kind !== "timer" && job.leasedBy !== null && job.availableMs > nowMs);
    if (leased.length === 0 || (head.status !== "PENDING" && head.status !== "WAITING")) return head;
    // Its `start` job says that it has not begun.
    const begun = leased.filter(({ kind }) => kind === "pass" || kind === "step");
    const claimedMs = begun.flatMap((job) => (job.claimedMs === null ? [] : [job.claimedMs]));
    const begins = head.status === "PENDING" && claimedMs.length > 0;
    return { ...head, status: "RUNNING", startedMs: head.startedMs ?? (begins ? Math.min(...claimedMs) : null) };
  }

  list(filter: RunFilter, ofEvents: ReadonlySet<string> | null, isOfGraph: (runId: string) => boolean): RunPage {
    const {
      environment,
      functionId,
      cursor,
      limit,
      eventName,
      errorText,
      createdAfterMs = 0,
      createdBeforeMs,
    } = filter;
    const statuses = filter.status === undefined ? null : [filter.status].flat();
    const found = [...this.rows.values()]
      .filter(({ head }) => environment === undefined || environmentOf(head.functionId) === environment)
      .filter(({ head }) => !functionId || head.functionId === functionId)
      .filter(({ head }) => !ofEvents || ofEvents.has(head.id))
      .filter(({ head }) => cursor === undefined || head.id < cursor)
      .filter(({ head }) => isOfGraph(head.id))
      .filter(({ head }) => errorText === undefined || hasText(head.errorJson, errorText))
      .filter(({ head }) => eventName === undefined || head.eventName === eventName)
      .filter(({ head }) => head.createdMs >= createdAfterMs && head.createdMs < (createdBeforeMs ?? Infinity))
      // By status live runs are found through their jobs.
      .filter(({ head, jobs }) => !statuses || head.endedMs !== null || jobs.size > 0)
      .map((run) => this.shown(run))
      .filter((head) => !statuses || statuses.includes(head.status))
      .sort((a, b) => byText(b.id, a.id));
    const runs = upToPageBytes(found.slice(0, Math.min(Math.max(Math.trunc(limit), 1), 1000)));
    return { runs, nextCursor: found.length > runs.length ? (runs.at(-1)?.id ?? null) : null };
  }
}

export const hasText = (json: string | null, text: string): boolean =>
  json?.toLowerCase().includes(text.toLowerCase()) ?? false;
