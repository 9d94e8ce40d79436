/**
 * Where a reader of the log is, as text (docs/decisions/0080). A transaction takes its numbers before it commits, so a
 * number alone says nothing of rows that are committed late; a snapshot does: which transactions had ended. Pure.
 */
import { HoldfastError } from "@holdfast/core";
import type { LogPosition } from "@holdfast/store";

/** `pg_snapshot` as text: `xmin:xmax:in progress`. */
export type Snapshot = string;

/** A row's number; rows of two runs may share one. */
export interface RowPlace {
  readonly seq: number;
  readonly runId: string;
}

/** After all rows that `seen` shows; and after those of `next` up to a place, where a page ended in between. */
export interface Position {
  readonly seen: Snapshot;
  /** All rows with this number or a lower one are in `seen`, and none is still to come: they need not be looked for. */
  readonly floor: number;
  readonly within: { readonly next: Snapshot; readonly upTo: RowPlace } | null;
}

/** No transaction had begun. */
export const START: Position = { seen: "1:1:", floor: 0, within: null };
export const BEFORE_ALL: RowPlace = { seq: 0, runId: "" };
/** Comes after every id. */
export const LAST_RUN = "~";

export function writePosition({ seen, floor, within }: Position): LogPosition {
  if (!within) return `p1.${seen}.${floor}`;
  return `p1.${seen}.${floor}.${within.next}.${within.upTo.seq}.${within.upTo.runId}`;
}

const SNAPSHOT = String.raw`(\d{1,20}:\d{1,20}:[\d,]{0,4000})`;
const NUMBER = String.raw`(\d{1,16})`;
const WRITTEN = new RegExp(`^p1\\.${SNAPSHOT}\\.${NUMBER}(?:\\.${SNAPSHOT}\\.${NUMBER}\\.([\\w~-]{0,64}))?$`);

/** @throws HoldfastError `POSITION_INVALID` */
export function readPosition(text: LogPosition): Position {
  const [, seen, floor, next, seq, runId = ""] = WRITTEN.exec(text) ?? [];
  if (seen === undefined || !isSnapshot(seen) || (next !== undefined && !isSnapshot(next))) {
    throw invalidPosition("this is no id of its messages");
  }
  const within = next === undefined ? null : { next, upTo: { seq: Number(seq), runId } };
  return { seen, floor: Number(floor), within };
}

/** As Postgres reads them: ids in order, between the two ends. */
function isSnapshot(text: string): boolean {
  const [xmin = "", xmax = "", list = ""] = text.split(":");
  const [from, to] = [BigInt(xmin), BigInt(xmax)];
  if (from < 1n || from > to || to >= 1n << 63n) return false;
  if (list === "") return true;
  let before = from - 1n;
  return list.split(",").every((one) => {
    const id = one === "" ? 0n : BigInt(one);
    const isNext = id > before && id < to;
    before = id;
    return isNext;
  });
}

export function invalidPosition(why: string): HoldfastError {
  return new HoldfastError("POSITION_INVALID", `The stream cannot go on from there: ${why}.`);
}

/** What the next page holds: rows that `next` shows and `seen` does not, after one place and up to another. */
export interface Stage {
  readonly seen: Snapshot;
  readonly floor: number;
  /** Null = what is visible now. */
  readonly next: Snapshot | null;
  readonly after: RowPlace;
  readonly upTo: RowPlace | null;
}

/** How to go on from a position towards another one; null = it is reached. */
export function nextStage({ seen, floor, within }: Position, until: Position | null): Stage | null {
  if (within) {
    const end = until?.seen === seen && until.within?.next === within.next ? until.within.upTo : null;
    if (end?.seq === within.upTo.seq && end.runId === within.upTo.runId) return null;
    return { seen, floor, next: within.next, after: within.upTo, upTo: end };
  }
  if (!until) return { seen, floor, next: null, after: BEFORE_ALL, upTo: null };
  if (until.seen !== seen) return { seen, floor, next: until.seen, after: BEFORE_ALL, upTo: null };
  return until.within && { seen, floor, next: until.within.next, after: BEFORE_ALL, upTo: until.within.upTo };
}
