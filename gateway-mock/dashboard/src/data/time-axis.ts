/**
 * Where a moment is on a score's axis. Long times in which nothing but waiting goes on are drawn shorter than they were,
 * or a night's sleep would leave no room for the steps around it. Pure.
 */
import { durationText } from "./format.ts";
import type { Score } from "./score.ts";

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

/** A wait is drawn shorter where it takes more than this part of the whole. */
const LONG_PART = 0.3;
/** How much of the axis it has then, compared with what goes on. */
const SHORT_PART = 0.18;

export function axisOf({ fromMs, toMs, staves, blocks }: Score): Axis {
  const busy = staves.flat().flatMap(({ bars }) => bars.filter(({ kind }) => kind !== "sleep" && kind !== "wait"));
  const spans = union([...busy, ...blocks].map((one) => [Math.max(fromMs, one.fromMs), Math.min(toMs, one.toMs)]));
  const cuts = spansBetween(spans, fromMs, toMs);
  const isLong = ({ ms, isBusy }: Cut): boolean => !isBusy && ms > LONG_PART * (toMs - fromMs);
  const keptMs = cuts.reduce((sum, cut) => sum + (isLong(cut) ? 0 : cut.ms), 0);
  const shortMs = keptMs * SHORT_PART;
  const widths = cuts.map((cut) => {
    const isShortened = keptMs > 0 && isLong(cut) && cut.ms > shortMs;
    return { isShortened, width: isShortened ? shortMs : cut.ms };
  });
  const total = widths.reduce((sum, { width }) => sum + width, 0) || 1;
  let at = 0;
  let ms = fromMs;
  const pieces = cuts.map((cut, index) => {
    const { width = 0, isShortened = false } = widths[index] ?? {};
    const piece = { fromMs: ms, toMs: ms + cut.ms, from: at, to: at + width / total, isShortened };
    at = piece.to;
    ms = piece.toMs;
    return piece;
  });
  return { pieces, at: (moment) => place(pieces, moment) };
}

function place(pieces: readonly Piece[], ms: number): number {
  const piece = pieces.find(({ toMs }) => ms <= toMs) ?? pieces.at(-1);
  if (!piece) return 0;
  const part = piece.toMs === piece.fromMs ? 0 : (ms - piece.fromMs) / (piece.toMs - piece.fromMs);
  return piece.from + Math.min(1, Math.max(0, part)) * (piece.to - piece.from);
}

type Span = readonly [from: number, to: number];

function union(spans: readonly Span[]): Span[] {
  const merged: [number, number][] = [];
  for (const [from, to] of [...spans].filter(([a, b]) => b > a).sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

interface Cut {
  readonly ms: number;
  readonly isBusy: boolean;
}

function spansBetween(spans: readonly Span[], fromMs: number, toMs: number): Cut[] {
  const cuts: Cut[] = [];
  let at = fromMs;
  for (const [from, to] of spans) {
    if (from > at) cuts.push({ ms: from - at, isBusy: false });
    cuts.push({ ms: to - from, isBusy: true });
    at = to;
  }
  if (toMs > at) cuts.push({ ms: toMs - at, isBusy: false });
  return cuts;
}

export interface Tick {
  readonly at: number;
  /** Since the start. */
  readonly ms: number;
}

/** Round times, as many as there is room for; none where the axis is shortened. */
export function ticksOf(axis: Axis, fromMs: number, wanted: number): Tick[] {
  const shown = axis.pieces.filter(({ isShortened }) => !isShortened);
  const shownMs = shown.reduce((sum, piece) => sum + piece.toMs - piece.fromMs, 0);
  const stepMs = roundStep(shownMs / Math.max(1, wanted));
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
