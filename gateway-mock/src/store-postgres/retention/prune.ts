/**
 * Removes what is past its time, step by step, so that no writer waits for it: partitions of `runs`, `run_log` and
 * `events` are replaced by a copy of what stays (docs/decisions/0083). Each step is a function of the schema and a
 * transaction by itself; any gateway goes on where another one stopped. `spans.ts` chooses the partitions.
 */
import {
  LEAST_EVENT_MS,
  type PruneOptions,
  type PruneProgress,
  type RetentionPolicy,
  shortestMs,
} from "@holdfast/store";
import type { Database } from "../connection/database.ts";
import { codeOf, storeFailed, troubleOf } from "../connection/pg-errors.ts";
import { msOf } from "../connection/pg-values.ts";
import type { Param, Row } from "../connection/query.ts";
import { periodsJson } from "./periods.ts";
import { dueSpans, type LookOptions, rewriteOf, type Span } from "./spans.ts";

const DAY_MS = 24 * 60 * 60_000;
const DEFAULT_LIMIT_MS = 5_000;
/** A partition in which at least this share goes is copied; of others the rows are deleted. */
const LEAST_SHARE = 0.25;
/** So few rows are copied whatever their share is. */
const FEW_ROWS = 20_000;
/** Changes that are copied while no statement works on the tables. */
const LAST_CHANGES = 100;
/** Changes that are copied at a time before that; where runs still start, small rounds would hardly keep up. */
const ROUND_CHANGES = 5_000;
const BATCH = { first: 2_000, least: 50, most: 20_000, quickMs: 200, slowMs: 1_000 } as const;
/** The server's limit for a statement was reached. */
const TOO_SLOW = "57014";
const RESTS = ["runs", "events"] as const;

export interface Pruner {
  prune(policy: RetentionPolicy, options?: PruneOptions): Promise<PruneProgress>;
}

interface Totals {
  runs: number;
  events: number;
}

interface Deletion {
  readonly parent: string;
  readonly name: string;
  readonly afterId: string;
}

/** What a step comes to: another one follows, all is done, or it could not be taken. */
type Step = "next" | "done" | "busy";

interface Work {
  readonly parent: string;
  readonly looked_for: string;
  readonly is_copied: boolean;
  /** A gateway is at it. */
  readonly is_active: boolean;
}

const WORK = `SELECT parent, looked_for, next_id IS NULL AS is_copied,
  touched_at > transaction_timestamp() - interval '1 minute' AS is_active FROM holdfast.table_rewrites`;
const SPANS = `SELECT parent, name, from_id, to_id, ${msOf("to_at")} AS to_ms, ${msOf("looked_at")} AS looked_ms, looked_for,
  kept::float8 AS kept FROM holdfast.table_partitions ORDER BY parent, to_at`;
const TIMES = `SELECT ${msOf("now()")} AS now_ms, ${msOf("transaction_timestamp()")} AS server_ms`;

export function openPruner(database: Database, tablePartitionMs: number): Pruner {
  return new PostgresPruner(database, Math.min(DAY_MS, tablePartitionMs / 2));
}

class PostgresPruner implements Pruner {
  readonly #database: Database;
  readonly #lookEveryMs: number;
  #batch: number = BATCH.first;
  /** Partitions whose rows are deleted, and after which id. Forgotten with the process: then they are looked at anew. */
  #deleting: readonly Deletion[] = [];
  /** When the partitions of the rest were looked through. */
  #restMs = Number.NEGATIVE_INFINITY;

  constructor(database: Database, lookEveryMs: number) {
    this.#database = database;
    this.#lookEveryMs = lookEveryMs;
  }

  async prune(
    policy: RetentionPolicy,
    { limitMs = DEFAULT_LIMIT_MS, sinceMs }: PruneOptions = {},
  ): Promise<PruneProgress> {
    const { monotonicMs } = this.#database.options;
    const totals: Totals = { runs: 0, events: 0 };
    const endMs = monotonicMs() + limitMs;
    const progress = (state: PruneProgress["state"]): PruneProgress => {
      return { state, removedRuns: totals.runs, removedEvents: totals.events };
    };
    try {
      for (;;) {
        const step = await this.#step(policy, totals, sinceMs ?? null);
        if (step !== "next") return progress(step);
        if (monotonicMs() >= endMs) return progress("more");
      }
    } catch (error) {
      if (troubleOf(error) === "conflict") return progress("blocked");
      throw storeFailed("Old runs could not be removed", error, this.#database.options.url);
    }
  }

  /** With `sinceMs` partitions that were last looked through before then. */
  async #step(policy: RetentionPolicy, totals: Totals, sinceMs: number | null): Promise<Step> {
    const periods = periodsJson(policy);
    const [work] = await this.#attempt<Work>(WORK);
    if (work && work.looked_for !== periods) {
      // Of a gateway with other options, or from before they changed: runs may be kept for longer now.
      if (work.is_active) return "busy";
      const [row] = await this.#attempt<{ taken: boolean }>("SELECT holdfast.abandon_rewrite() AS taken");
      return row?.taken ? "next" : "busy";
    }
    if (work) return this.#goOn(work, periods, totals);
    const [deletion] = this.#deleting;
    if (deletion) return this.#delete(deletion, periods, totals);
    return this.#begin(policy, periods, sinceMs);
  }

  async #goOn(work: Work, periods: string, totals: Totals): Promise<Step> {
    if (!work.is_copied) {
      const [row] = await this.#inBatches<{ taken: boolean }>(
        "SELECT taken, more FROM holdfast.continue_rewrite($1, $2::text::jsonb, now())",
        [periods],
      );
      return row?.taken ? "next" : "busy";
    }
    const [caughtUp] = await this.#attempt<{ taken: boolean; changes: number }>(
      "SELECT taken, changes FROM holdfast.catch_up_rewrite($1, $2::text::jsonb, now())",
      [ROUND_CHANGES, periods],
    );
    if (!caughtUp?.taken) return "busy";
    if (caughtUp.changes >= LAST_CHANGES) return "next";
    const [done] = await this.#attempt<{ taken: boolean; seen: number; kept: number }>(
      "SELECT taken, seen::float8 AS seen, kept::float8 AS kept FROM holdfast.finish_rewrite($1::text::jsonb, now())",
      [periods],
    );
    if (!done?.taken) return "busy";
    totals[work.parent === "runs" ? "runs" : "events"] += Math.max(0, done.seen - done.kept);
    return "next";
  }

  async #begin(policy: RetentionPolicy, periods: string, sinceMs: number | null): Promise<Step> {
    const { spans, nowMs, serverMs } = await loadSpans(this.#database);
    const lookEveryMs = sinceMs === null ? this.#lookEveryMs : nowMs - sinceMs;
    const shortest = shortestMs(policy);
    for (const { parent, ms } of [
      { parent: "runs", ms: shortest },
      { parent: "events", ms: policy.completedMs === null ? null : Math.max(policy.completedMs, LEAST_EVENT_MS) },
    ] as const) {
      if (ms === null) continue;
      const options: LookOptions = { parent, shortestMs: ms, nowMs, serverMs, lookEveryMs, periods };
      const [span] = dueSpans(spans, options);
      if (span) return this.#look(span, spans, periods, serverMs);
    }
    if (this.#restMs > nowMs - lookEveryMs) return "done";
    this.#restMs = nowMs;
    this.#deleting = RESTS.map((parent) => ({ parent, name: `${parent}_rest`, afterId: "" }));
    return "next";
  }

  async #look(span: Span, spans: readonly Span[], periods: string, serverMs: number): Promise<Step> {
    const { parent, name } = span;
    const [counted] = await this.#attempt<{ seen: number; gone: number }>(
      "SELECT seen::float8 AS seen, gone::float8 AS gone FROM holdfast.count_past($1, $2, $3::text::jsonb, now(), true, NULL)",
      [parent, name, periods],
    );
    const { seen = 0, gone = 0 } = counted ?? {};
    if (gone === 0 && seen > 0) return this.#looked(parent, name, periods);
    const rewrite = gone >= LEAST_SHARE * seen || seen <= FEW_ROWS ? rewriteOf(spans, span, serverMs) : null;
    if (!rewrite) {
      this.#deleting = [{ parent, name, afterId: "" }];
      return "next";
    }
    const [row] = await this.#attempt<{ begun: boolean }>("SELECT holdfast.begin_rewrite($1, $2, $3, $4) AS begun", [
      parent,
      rewrite.fromId,
      rewrite.toId,
      periods,
    ]);
    return row?.begun ? "next" : "busy";
  }

  async #delete({ parent, name, afterId }: Deletion, periods: string, totals: Totals): Promise<Step> {
    const [row] = await this.#inBatches<{ taken: boolean; next_id: string | null; removed: number }>(
      "SELECT taken, next_id, removed::float8 AS removed FROM holdfast.remove_past($2, $3, $4, $1, $5::text::jsonb, now())",
      [parent, name, afterId, periods],
    );
    if (!row?.taken) return "busy";
    totals[parent === "runs" ? "runs" : "events"] += row.removed;
    const rest = this.#deleting.slice(1);
    this.#deleting = row.next_id === null ? rest : [{ parent, name, afterId: row.next_id }, ...rest];
    return row.next_id === null ? this.#looked(parent, name, periods) : "next";
  }

  async #looked(parent: string, name: string, periods: string): Promise<Step> {
    await this.#attempt(
      "UPDATE holdfast.table_partitions SET looked_at = now(), looked_for = $3 WHERE parent = $1 AND name = $2",
      [parent, name, periods],
    );
    return "next";
  }

  async #inBatches<R extends Row>(text: string, params: readonly string[]): Promise<R[]> {
    const { monotonicMs } = this.#database.options;
    const startedMs = monotonicMs();
    try {
      const rows = await this.#attempt<R>(text, [this.#batch, ...params]);
      const tookMs = monotonicMs() - startedMs;
      if (tookMs < BATCH.quickMs) this.#batch = Math.min(BATCH.most, this.#batch * 2);
      if (tookMs > BATCH.slowMs) this.#batch = Math.max(BATCH.least, Math.floor(this.#batch / 2));
      return rows;
    } catch (error) {
      if (codeOf(error) === TOO_SLOW) this.#batch = Math.max(BATCH.least, Math.floor(this.#batch / 8));
      throw error;
    }
  }

  #attempt<R extends object>(text: string, params: readonly Param[] = []): Promise<R[]> {
    return this.#database.attempt<R>(text, params);
  }
}

interface SpanRow {
  readonly parent: string;
  readonly name: string;
  readonly from_id: string;
  readonly to_id: string;
  readonly to_ms: number;
  readonly looked_ms: number | null;
  readonly looked_for: string | null;
  readonly kept: number | null;
}

export interface Spans {
  readonly spans: readonly Span[];
  readonly nowMs: number;
  readonly serverMs: number;
}

export async function loadSpans(database: Database): Promise<Spans> {
  const rows = await database.query<SpanRow>(SPANS);
  const [times] = await database.query<{ now_ms: number; server_ms: number }>(TIMES);
  const spans = rows.map(
    (row): Span => ({
      parent: row.parent,
      name: row.name,
      fromId: row.from_id,
      toId: row.to_id,
      toMs: row.to_ms,
      lookedMs: row.looked_ms,
      lookedFor: row.looked_for,
      kept: row.kept,
    }),
  );
  return { spans, nowMs: Number(times?.now_ms), serverMs: Number(times?.server_ms) };
}
