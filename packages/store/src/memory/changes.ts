/**
 * The newest rows of all logs in the order in which they became visible: what `readChanges` reads of the memory store.
 * Transactions in memory never overlap, so numbers rise as rows become visible, and a position is a row's place.
 */
import { HoldfastError } from "@holdfast/core";
import {
  type ChangePage,
  type ChangeRequest,
  type LogChange,
  type LogPosition,
  MAX_CHANGE_BYTES,
} from "../port/changes.ts";
import type { LogRow, RunStatus } from "../port/work.ts";
import { byText, type RunRow } from "./rows.ts";

/** So much is remembered for who follows many runs. The logs of single runs are there as long as the runs are. */
const MAX_ROWS = 20_000;

/** A row as it is written. */
export interface WrittenRow {
  readonly runId: string;
  readonly seq: number;
  readonly atMs: number;
  readonly status: RunStatus | null;
  readonly facts: readonly LogRow[];
}

interface Place {
  readonly seq: number;
  /** Rows of two runs may share a number; "" comes before all of it, "~" after. */
  readonly runId: string;
}

export class Changes {
  /** Of the process: a position of one before this is none of ours. */
  readonly #tag: string;
  readonly #runs: ReadonlyMap<string, RunRow>;
  #rows: WrittenRow[] = [];
  /** Rows up to this number may be missing here. */
  #forgotten = 0;
  #last = 0;

  constructor(startedMs: number, runs: ReadonlyMap<string, RunRow>) {
    this.#tag = Math.trunc(startedMs).toString(36);
    this.#runs = runs;
  }

  readonly start = (): LogPosition => this.#position({ seq: 0, runId: "" });

  readonly end = (): LogPosition => this.#position({ seq: this.#last, runId: "~" });

  add(row: WrittenRow): void {
    this.#last = row.seq;
    this.#rows.push(row);
    if (this.#rows.length < 2 * MAX_ROWS) return;
    this.#forgotten = this.#rows[MAX_ROWS]?.seq ?? 0;
    this.#rows = this.#rows.slice(MAX_ROWS);
  }

  /** @throws HoldfastError `POSITION_INVALID` */
  read({ after, until, scope, limit }: ChangeRequest): ChangePage {
    const from = this.#placeOf(after);
    const to = until === undefined ? { seq: this.#last, runId: "~" } : this.#placeOf(until);
    const onlyRuns = scope.functionIds?.length === 0;
    if (!onlyRuns && from.seq < this.#forgotten) {
      return { changes: [], position: after, isEnd: false, isTooOld: true };
    }
    const rows = onlyRuns ? scope.runIds.flatMap((id) => this.#rowsOf(id)) : this.#matching(scope);
    const found = rows
      .filter((row) => compare(row, from) > 0 && compare(row, to) <= 0)
      .sort(compare)
      .slice(0, limit + 1);
    const isEnd = found.length <= limit;
    const changes = found.slice(0, limit).flatMap((row) => this.#shown(row));
    const last = changes.at(-1);
    const position = isEnd || !last ? this.#position(compare(from, to) > 0 ? from : to) : last.position;
    return { changes, position, isEnd, isTooOld: false };
  }

  #matching({ runIds, functionIds }: ChangeRequest["scope"]): WrittenRow[] {
    if (!functionIds) return this.#rows;
    return this.#rows.filter(({ runId }) => {
      return runIds.includes(runId) || functionIds.includes(this.#runs.get(runId)?.head.functionId ?? "");
    });
  }

  /** Its log holds fact by fact what was written row by row. */
  #rowsOf(runId: string): WrittenRow[] {
    const rows = new Map<number, WrittenRow & { readonly facts: LogRow[] }>();
    for (const { seq, atMs, headStatus: status, headVersion: _, ...fact } of this.#runs.get(runId)?.log ?? []) {
      const row = rows.get(seq);
      if (row) row.facts.push(fact);
      else rows.set(seq, { runId, seq, atMs, status, facts: [fact] });
    }
    return [...rows.values()];
  }

  /** Nothing of a run that is gone. */
  #shown(row: WrittenRow): LogChange[] {
    const functionId = this.#runs.get(row.runId)?.head.functionId;
    if (functionId === undefined) return [];
    const isLarge = row.facts.reduce((sum, { dataJson }) => sum + dataJson.length, 0) > MAX_CHANGE_BYTES;
    const facts = isLarge ? row.facts.map((fact) => ({ ...fact, dataJson: null })) : row.facts;
    return [{ ...row, functionId, facts, position: this.#position(row) }];
  }

  #position({ seq, runId }: Place): LogPosition {
    return `m1.${this.#tag}.${seq}.${runId}`;
  }

  #placeOf(position: LogPosition): Place {
    const [, tag, seq, runId = ""] = /^m1\.(\w+)\.(\d{1,15})\.([\w~]{0,64})$/.exec(position) ?? [];
    if (tag === this.#tag && Number(seq) <= this.#last) return { seq: Number(seq), runId };
    throw new HoldfastError(
      "POSITION_INVALID",
      "The stream cannot go on from there: this gateway keeps its runs in memory, and that place is not in it. Without `Last-Event-ID` it begins with a snapshot.",
    );
  }
}

const compare = (a: Place, b: Place): number => a.seq - b.seq || byText(a.runId, b.runId);
