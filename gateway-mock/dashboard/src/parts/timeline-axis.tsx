/** The time axis of a timeline: round times, and where it is broken because a long wait is drawn shorter. */
import type { JSX } from "preact";
import { durationText } from "../data/format.ts";
import { type Axis, ticksOf, tickTexts } from "../data/time-axis.ts";
import type { Timeline } from "../data/timeline.ts";

/** Above the tracks, and beside them. */
export const TOP = 30;
export const SIDE = 14;

interface AxisProps {
  readonly timeline: Timeline;
  readonly axis: Axis;
  readonly x: (ms: number) => number;
  readonly height: number;
  readonly width: number;
}

/** As wide as a digit of the axis is drawn. */
const DIGIT = 6.4;
const APART = 8;

interface TickLabel {
  readonly x: number;
  readonly anchor: "start" | "middle" | "end";
  readonly text: string;
}

/** One for each tick; null where another one stands. */
function tickLabels(places: readonly number[], texts: readonly string[], width: number, taken: number[][]) {
  const free = (from: number, to: number): boolean =>
    taken.every(([left = 0, right = 0]) => to + APART <= left || from >= right + APART);
  return places.map((place, index): TickLabel | null => {
    const text = texts[index] ?? "";
    const long = text.length * DIGIT;
    const anchor = place < 40 ? "start" : place > width - 40 ? "end" : "middle";
    const x = anchor === "start" ? SIDE : place;
    const from = anchor === "start" ? x : anchor === "end" ? x - long : x - long / 2;
    if (!free(from, from + long)) return null;
    taken.push([from, from + long]);
    return { x, anchor, text };
  });
}

export function AxisLines({ timeline, axis, x, height, width }: AxisProps): JSX.Element {
  const ticks = ticksOf(axis, timeline.fromMs, Math.max(2, Math.floor(width / 110)));
  const places = ticks.map(({ at }) => SIDE + at * (width - 2 * SIDE));
  const shortened = axis.pieces
    .filter(({ isShortened }) => isShortened)
    .map((piece) => {
      const [from, to] = [x(piece.fromMs), x(piece.toMs)];
      const lasted = durationText(piece.toMs - piece.fromMs);
      return { from, to, lasted, text: to - from > lasted.length * DIGIT + 4 ? lasted : "" };
    });
  const taken = shortened.flatMap(({ from, to, text }) => {
    const [middleOf, half] = [(from + to) / 2, (text.length * DIGIT) / 2];
    return text === "" ? [] : [[middleOf - half, middleOf + half]];
  });
  const labels = tickLabels(places, tickTexts(ticks), width, taken);
  return (
    <g class="axis">
      {ticks.map(({ ms }, index) => {
        const [place, label] = [places[index], labels[index]];
        return (
          <g key={ms}>
            <line x1={place} x2={place} y1={TOP - 8} y2={height} />
            {label && (
              <text x={label.x} y={TOP - 14} text-anchor={label.anchor}>
                {label.text}
              </text>
            )}
          </g>
        );
      })}
      {shortened.map(({ from, to, lasted, text }) => (
        <g key={from} class="shortened">
          <rect x={from} width={to - from} y={TOP - 8} height={height - TOP + 8} />
          <path d={`M${from} ${TOP - 8}V${height}M${to} ${TOP - 8}V${height}`} />
          <text x={(from + to) / 2} y={TOP - 14} text-anchor="middle">
            {text}
          </text>
          <title>{`${lasted}, drawn shorter than it was`}</title>
        </g>
      ))}
    </g>
  );
}

interface BreaksProps {
  readonly axis: Axis;
  readonly x: (ms: number) => number;
  readonly y: number;
}

/** The mark of a broken axis, across a track and the bars on it. */
export function Breaks({ axis, x, y }: BreaksProps): JSX.Element {
  return (
    <g class="breaks">
      {axis.pieces
        .filter(({ isShortened }) => isShortened)
        .map(({ fromMs, toMs }) => {
          const at = (x(fromMs) + x(toMs)) / 2;
          return (
            <g key={fromMs}>
              <path class="break-ground" d={`M${at - 6} ${y + 9}l5-18h7l-5 18z`} />
              <path d={`M${at - 6} ${y + 9}l5-18M${at + 1} ${y + 9}l5-18`} />
            </g>
          );
        })}
    </g>
  );
}
