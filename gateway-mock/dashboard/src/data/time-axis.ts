/**
 * Where a moment is on a timeline's axis. Long times in which nothing but waiting goes on are drawn shorter than they were,
 * or a night's sleep would leave no room for the steps around it; but not so short that they cannot be read themselves.
 * Pure.
 */
import { durationText } from "./format.ts";
import type { Bar, BarKind, Interval, Timeline } from "./timeline.ts";

export interface Piece {
  readonly fromMs: number;
  readonly toMs: number;
  /** From 0 to 1. */
  readonly from: number;
  readonly to: number;
  readonly isShortened: boolean;
}

export interface Axis {
  readonly pieces: readonly Piece[];
  readonly at: (ms: number) => number;
}

/** Bars in which code runs. In those of the other kinds the run only waits. */
const BUSY: ReadonlySet<BarKind> = new Set<BarKind>(["attempt", "failed", "active"]);
/** How much of the axis the time in which something goes on is worth: for each attempt, up to so many, and by itself. */
const MOST_ATTEMPTS = 6;
const WORTH_BY_ITSELF = 0.3;
/** And each long gap, up to so many, in the same measure. */
const WORTH_OF_GAP = 1.5;
const MOST_GAPS = 4;
/** Of all gaps together: one that is shorter is none that a reader looks for. */
const GAP_PART = 0.05;
/** Time in which something goes on is left as it is while it has so much of what it is worth. */
const READABLE = 0.5;
/** The longest gap is drawn at most so many times as wide as the shortest that is drawn shorter. */
const MOST_TIMES = 3;

export function axisOf(timeline: Timeline): Axis {
  const cuts = cutsOf(timeline);
  const widths = widthsOf(cuts, timeline.tracks.flat().flatMap(({ bars }) => bars.filter(isBusy)).length);
  const total = widths.reduce((sum, width) => sum + width, 0) || 1;
  let at = 0;
  const pieces = cuts.map(({ fromMs, toMs }, index) => {
    const width = widths[index] ?? 0;
    const piece = { fromMs, toMs, from: at, to: at + width / total, isShortened: width < toMs - fromMs };
    at = piece.to;
    return piece;
  });
  return { pieces, at: (moment) => place(pieces, moment) };
}

const isBusy = ({ kind }: Bar): boolean => BUSY.has(kind);

/** Of each cut: as many milliseconds as it took, or fewer. */
function widthsOf(cuts: readonly Cut[], attempts: number): number[] {
  const lengths = cuts.map(({ fromMs, toMs }) => toMs - fromMs);
  const workMs = cuts.reduce((sum, cut, index) => sum + (cut.isGap ? 0 : (lengths[index] ?? 0)), 0);
  const gaps = longGaps(
    cuts.map(({ isGap }, index) => (isGap ? (lengths[index] ?? 0) : 0)),
    workMs,
  );
  const gapsMs = gaps.reduce((sum, length) => sum + length, 0);
  const keptMs = lengths.reduce((sum, length) => sum + length, 0) - gapsMs;
  const worth = WORTH_BY_ITSELF + Math.min(MOST_ATTEMPTS, attempts);
  const count = gaps.filter((length) => length > 0 && length >= GAP_PART * gapsMs).length;
  const part = worth / (worth + WORTH_OF_GAP * Math.min(MOST_GAPS, count));
  if (keptMs === 0 || keptMs >= READABLE * part * (keptMs + gapsMs)) return lengths;
  const shares = shared(gaps, (keptMs * (1 - part)) / part);
  return lengths.map((length, index) => (gaps[index] === 0 ? length : (shares[index] ?? 0)));
}

/** Without the shortest ones, which together take no longer than the work does: they are drawn as they are, too. */
function longGaps(gaps: readonly number[], workMs: number): number[] {
  const long = [...gaps];
  let sum = 0;
  for (const [index, length] of [...gaps.entries()].sort(([, a], [, b]) => a - b)) {
    sum += length;
    if (sum > workMs) break;
    long[index] = 0;
  }
  return long;
}

/**
 * Shares out `room` among gaps: none has more than its length, and of the others a longer one has more, but not as much
 * more as it is longer.
 */
function shared(lengths: readonly number[], room: number): number[] {
  let open = lengths.flatMap((length, index) => (length > 0 ? [{ length, index }] : []));
  const shares = lengths.map(() => 0);
  let left = room;
  for (;;) {
    const shortest = Math.min(...open.map(({ length }) => length));
    const weights = open.map(({ length }) => Math.min(MOST_TIMES, 1 + Math.log10(length / shortest)));
    const unit = left / weights.reduce((sum, weight) => sum + weight, 0);
    const fits = open.filter(({ length }, index) => length <= unit * (weights[index] ?? 0));
    for (const [place, { index }] of open.entries()) shares[index] = unit * (weights[place] ?? 0);
    if (fits.length === 0) return shares;
    for (const { index, length } of fits) {
      shares[index] = length;
      left -= length;
    }
    open = open.filter((one) => !fits.includes(one));
    if (open.length === 0) return shares;
  }
}

function place(pieces: readonly Piece[], ms: number): number {
  const piece = pieces.find(({ toMs }) => ms <= toMs) ?? pieces.at(-1);
  if (!piece) return 0;
  const part = piece.toMs === piece.fromMs ? 0 : (ms - piece.fromMs) / (piece.toMs - piece.fromMs);
  return piece.from + Math.min(1, Math.max(0, part)) * (piece.to - piece.from);
}

interface Cut extends Interval {
  /** Nothing but waiting goes on. */
  readonly isGap: boolean;
}

/** The whole time, cut where the run begins or ceases to wait, and where it waits for something else. */
function cutsOf({ fromMs, toMs, tracks, blocks, ended }: Timeline): Cut[] {
  const bars = tracks.flat().flatMap((entry) => entry.bars);
  const busy = union([...bars.filter(isBusy), ...blocks]);
  const waits = bars.filter((bar) => !isBusy(bar));
  const named = [...waits, ...ended.map((one) => ({ ...one, kind: "ended" as const }))];
  const edges = [...busy, ...named].flatMap((one) => [one.fromMs, one.toMs]);
  const inside = [...new Set([fromMs, ...edges.filter((ms) => ms > fromMs && ms < toMs), toMs])].sort((a, b) => a - b);
  const cuts: (Cut & { readonly what: string })[] = [];
  for (const [index, from] of inside.slice(0, -1).entries()) {
    const to = inside[index + 1] ?? toMs;
    const isIn = (one: Interval): boolean => one.fromMs <= from && to <= one.toMs;
    const kinds = busy.some(isIn) ? [] : named.filter(isIn).map(({ kind }) => kind);
    const what = [...new Set(kinds)].sort().join();
    const last = cuts.at(-1);
    if (last?.what === what) cuts[cuts.length - 1] = { ...last, toMs: to };
    else cuts.push({ fromMs: from, toMs: to, isGap: what !== "", what });
  }
  return cuts;
}

function union(intervals: readonly Interval[]): Interval[] {
  const merged: Interval[] = [];
  for (const { fromMs, toMs } of [...intervals].sort((a, b) => a.fromMs - b.fromMs)) {
    const last = merged.at(-1);
    if (last && fromMs <= last.toMs) {
      merged[merged.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, toMs) };
    } else if (toMs > fromMs) merged.push({ fromMs, toMs });
  }
  return merged;
}

export interface Tick {
  readonly at: number;
  /** Since the start. */
  readonly ms: number;
}

/** Round times, as many as there is room for, with `wanted` on the whole axis; none where it is shortened. */
export function ticksOf(axis: Axis, fromMs: number, wanted: number): Tick[] {
  const shown = axis.pieces.filter(({ isShortened }) => !isShortened);
  const shownMs = shown.reduce((sum, piece) => sum + piece.toMs - piece.fromMs, 0);
  const shownPart = shown.reduce((sum, piece) => sum + piece.to - piece.from, 0);
  // A step is rounded up, so that a little less is asked for.
  const stepMs = roundStep((0.8 * shownMs) / Math.max(1, wanted * shownPart));
  const ticks: Tick[] = [];
  for (const { fromMs: from, toMs: to } of shown) {
    for (let ms = Math.ceil((from - fromMs) / stepMs) * stepMs; ms <= to - fromMs; ms += stepMs) {
      const at = axis.at(fromMs + ms);
      const last = ticks.at(-1);
      if (!last || at - last.at > 0.6 / wanted) ticks.push({ at, ms });
    }
  }
  return ticks;
}

const STEPS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
  .flatMap((ms) => [ms])
  .concat(
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200].map(
      (seconds) => seconds * 1_000,
    ),
  );
const DAY_MS = 86_400_000;

function roundStep(ms: number): number {
  return STEPS_MS.find((step) => step >= ms) ?? Math.max(1, Math.ceil(ms / DAY_MS)) * DAY_MS;
}

/** What the ticks are called: no two the same, however close they are after a long time. */
export function tickTexts(ticks: readonly Pick<Tick, "ms">[]): string[] {
  const texts = ticks.map(({ ms }) => (ms === 0 ? "0" : durationText(ms)));
  const alike = new Map<string, number[]>();
  for (const [index, text] of texts.entries()) alike.set(text, [...(alike.get(text) ?? []), ticks[index]?.ms ?? 0]);
  return texts.map((text, index) => {
    const group = alike.get(text) ?? [];
    return group.length < 2 ? text : exactText(ticks[index]?.ms ?? 0, digitsFor(group));
  });
}

/** Of a second, so that each of these times is told exactly. */
const digitsFor = (times: readonly number[]): number =>
  [0, 1, 2].find((digits) => times.every((ms) => ms % 10 ** (3 - digits) === 0)) ?? 3;

const UNITS: readonly [ms: number, name: string][] = [
  [DAY_MS, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
];

/** `3 min 57.02 s`: all units that it has. */
function exactText(ms: number, digits: number): string {
  let rest = ms;
  const parts = UNITS.flatMap(([unit, name]) => {
    const count = Math.floor(rest / unit);
    rest -= count * unit;
    return count === 0 ? [] : [`${count} ${name}`];
  });
  return [...parts, `${(rest / 1_000).toFixed(digits)} s`].join(" ");
}
