import {
  environmentOf,
  type HeadWrite,
  type LogRow,
  type NewWait,
  type RunFilter,
  type RunHead,
  type RunPage,
  type RunStatus,
  type RunWrite,
  type StoredLogRow,
  type StoredWait,
  type WaitQuery,
} from "@holdfast/store";

import { byText, type EventRow, type JobRow, type Now, type RunRow, rowKey, type TableWatch } from "./rows.ts";

/** Heads, logs and waits. */
export class Runs {
  readonly rows = new Map<string, RunRow>();
  readonly #now: Now;
  readonly #watch: () => TableWatch;
  #seq = 0;

  constructor(now: Now, watch: () => TableWatch) {
    this.#now = now;
    this.#watch = watch;
  }

  isLive(runId: string): boolean {
    return this.rows.get(runId)?.head.endedMs === null;
  }

  insert({ run, status }: RunWrite): void {
    const nowMs = this.#now();
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
    this.rows.set(run.id, { head, log: [], keys: new Map(), jobs: new Set(), waits: new Map() });
    this.#watch().created(head);
  }

  /** False: there is one of that key already, and it stays. */
  log(runId: string, row: LogRow, headVersion: number | null, headStatus: RunStatus | null): boolean {
    const run = this.rows.get(runId);
    if (!run || run.keys.has(rowKey(row))) return false;
    this.#seq += 1;
    const stored: StoredLogRow = { ...row, seq: this.#seq, atMs: this.#now(), headVersion, headStatus };
    run.keys.set(rowKey(row), stored);
    run.log.push(stored);
    this.#watch().logged(runId, stored);
    return true;
  }

  /** What a claim notes of a lease that had ended, or was returned as lost. */
  noteLost(job: JobRow): void {
    if (job.runId === "") return;
    const { kind, key, id, attempt, epoch: iteration, leasedBy: gatewayId } = job;
    const dataJson = JSON.stringify({ kind, key, gatewayId });
    this.log(job.runId, { kind: "LEASE_LOST", key: id, attempt, iteration, dataJson }, null, null);
  }

  updateHead(write: HeadWrite): void {
    const run = this.rows.get(write.runId);
    if (!run) return;
    const { head } = run;
    const job = [...run.jobs].find(({ id }) => id === write.jobId);
    const startedMs = head.startedMs ?? job?.claimedMs ?? this.#now();
    run.head = {
      ...head,
      version: write.version,
      status: write.status,
      startedMs: write.status === "PENDING" ? head.startedMs : startedMs,
      endedMs: write.ended ? this.#now() : null,
      outputJson: write.output,
      errorJson: write.error,
      appVersion: write.appVersion ?? head.appVersion,
      deadlineMs: write.deadlineMs === undefined ? head.deadlineMs : write.deadlineMs,
    };
  }

  insertWait(wait: NewWait): void {
    const { runId, key, kind, name, expression = null, match = "", expiresInMs } = wait;
    const run = this.rows.get(runId);
    if (!run || run.waits.has(key)) return;
    const expiresMs = expiresInMs == null ? null : this.#now() + expiresInMs;
    run.waits.set(key, { runId, key, kind, name, expression, match, beganMs: this.#now(), expiresMs });
  }

  /** Every wait there is. */
  waits(): StoredWait[] {
    return [...this.rows.values()].flatMap(({ waits }) => [...waits.values()]);
  }

  findWaits(
    { name, kinds, eventId, matches = [""], limit, after }: WaitQuery,
    event: EventRow | undefined,
  ): StoredWait[] {
    if (eventId !== undefined && !event) return [];
    const isMeant = (wait: StoredWait, triggeredBy: string): boolean =>
      wait.name === name &&
      kinds.includes(wait.kind) &&
      matches.includes(wait.match) &&
      (!after || byPlace(wait, after) > 0) &&
      (!event || (wait.beganMs < event.receivedMs && triggeredBy !== eventId)) &&
      (!event || wait.expiresMs === null || wait.expiresMs > event.receivedMs);
    return [...this.rows.values()]
      .flatMap(({ head, waits }) => [...waits.values()].filter((wait) => isMeant(wait, head.eventId)))
      .sort(byPlace)
      .slice(0, Math.min(Math.max(limit, 1), 1000));
  }

  waitPaths(name: string): string[] {
    const matches = this.waits().filter((wait) => wait.name === name && wait.match !== "");
    return [...new Set(matches.map(({ match }) => match.split("\n")[0] ?? ""))].sort(byText);
  }

  /** As people see it: a run with leased work is running. */
  shown({ head, jobs }: RunRow): RunHead {
    const nowMs = this.#now();
    const isLeased = [...jobs].some((job) => job.kind !== "timer" && job.leasedBy !== null && job.availableMs > nowMs);
    const waits = head.status === "PENDING" || head.status === "WAITING";
    return waits && isLeased ? { ...head, status: "RUNNING" } : head;
  }

  list({ environment, status, functionId, cursor, limit }: RunFilter, ofEvent: readonly string[] | null): RunPage {
    const found = [...this.rows.values()]
      .filter(({ head }) => environment === undefined || environmentOf(head.functionId) === environment)
      .filter(({ head }) => !functionId || head.functionId === functionId)
      .filter(({ head }) => !ofEvent || ofEvent.includes(head.id))
      .filter(({ head }) => cursor === undefined || head.id < cursor)
      // By status live runs are found through their jobs.
      .filter(({ head, jobs }) => !status || head.endedMs !== null || jobs.size > 0)
      .map((run) => this.shown(run))
      .filter((head) => !status || head.status === status)
      .sort((a, b) => byText(b.id, a.id));
    const runs = found.slice(0, Math.min(Math.max(Math.trunc(limit), 1), 1000));
    return { runs, nextCursor: found.length > runs.length ? (runs.at(-1)?.id ?? null) : null };
  }
}

type Place = Pick<StoredWait, "match" | "runId" | "key">;

const byPlace = (a: Place, b: Place): number =>
  byText(a.match, b.match) || byText(a.runId, b.runId) || byText(a.key, b.key);
