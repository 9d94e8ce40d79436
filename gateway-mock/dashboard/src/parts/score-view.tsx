/** Draws a score: staves with bars on a time axis, blocked time hatched across all of them. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { durationText } from "../data/format.ts";
import type { Bar, Block, Score, Voice } from "../data/score.ts";
import { type Axis, axisOf, ticksOf, tickTexts } from "../data/time-axis.ts";

const STAVE = 44;
const BAR = 16;
const TOP = 30;
const SIDE = 14;
const LETTER = 7.2;

export interface ScoreViewProps {
  readonly score: Score;
  readonly selected: string | null;
  readonly onSelect: (stepId: string) => void;
}

/** The width that there is, in pixels. */
function useWidth(): { readonly ref: { current: HTMLDivElement | null }; readonly width: number } {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    setWidth(element.clientWidth);
    return () => observer.disconnect();
  }, []);
  return { ref, width };
}

export function ScoreView({ score, selected, onSelect }: ScoreViewProps): JSX.Element {
  const { ref, width } = useWidth();
  const axis = axisOf(score);
  const height = TOP + Math.max(1, score.staves.length) * STAVE + 8;
  const x = (ms: number): number => SIDE + axis.at(ms) * Math.max(1, width - 2 * SIDE);
  const steps = score.staves.flat().filter(({ step }) => step !== null).length;
  const lasted = durationText(score.toMs - score.fromMs);
  return (
    <div ref={ref} class="score" tabIndex={0} role="group" aria-label="Score of the run">
      {width > 0 && (
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={`${steps} steps in ${lasted}; the list below has them`}
        >
          <Hatching />
          <AxisLines score={score} axis={axis} x={x} height={height} width={width} />
          {score.staves.map((_, index) => (
            <line
              key={`line ${index.toString()}`}
              class="stave"
              x1={SIDE}
              x2={width - SIDE}
              y1={middle(index)}
              y2={middle(index)}
            />
          ))}
          {score.staves.map((stave, index) =>
            stave.map((voice) => (
              <VoiceView
                key={voice.step?.id ?? voice.name}
                voice={voice}
                y={middle(index)}
                x={x}
                isSelected={voice.step !== null && voice.step.id === selected}
                onSelect={onSelect}
              />
            )),
          )}
          {score.blocks.map((block) => (
            <BlockView key={block.fromMs} block={block} x={x} height={height} />
          ))}
          {score.staves.map((stave, index) =>
            stave.map((voice, place) => (
              <VoiceName
                key={voice.step?.id ?? voice.name}
                voice={voice}
                y={middle(index)}
                from={x(voice.fromMs)}
                roomTo={place + 1 < stave.length ? x(stave[place + 1]?.fromMs ?? 0) : width - 4}
                isSelected={voice.step !== null && voice.step.id === selected}
              />
            )),
          )}
        </svg>
      )}
    </div>
  );
}

const middle = (stave: number): number => TOP + stave * STAVE + 28;

function Hatching(): JSX.Element {
  return (
    <defs>
      <pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <line class="hatch-line" x1="0" y1="0" x2="0" y2="7" />
      </pattern>
    </defs>
  );
}

interface AxisProps {
  readonly score: Score;
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

function AxisLines({ score, axis, x, height, width }: AxisProps): JSX.Element {
  const ticks = ticksOf(axis, score.fromMs, Math.max(2, Math.floor(width / 110)));
  const places = ticks.map(({ at }) => SIDE + at * (width - 2 * SIDE));
  const shortened = axis.pieces
    .filter(({ isShortened }) => isShortened)
    .map((piece) => {
      const [from, to] = [x(piece.fromMs), x(piece.toMs)];
      const lasted = durationText(piece.toMs - piece.fromMs);
      return { from, to, lasted, text: to - from > 56 ? `+ ${lasted}` : "" };
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
          <text x={(from + to) / 2} y={TOP - 14} text-anchor="middle">
            {text}
          </text>
          <title>{`${lasted}, drawn shorter`}</title>
        </g>
      ))}
    </g>
  );
}

interface VoiceProps {
  readonly voice: Voice;
  readonly y: number;
  readonly x: (ms: number) => number;
  readonly isSelected: boolean;
  readonly onSelect: (stepId: string) => void;
}

function VoiceView({ voice, y, x, isSelected, onSelect }: VoiceProps): JSX.Element {
  const { step, name, bars, fromMs, toMs } = voice;
  const select = step === null ? undefined : (): void => onSelect(step.id);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the picture is described as a whole, the list has the steps
    <g class={`voice${isSelected ? " selected" : ""}${select ? " can-select" : ""}`} onClick={select}>
      <title>{`${name}: ${durationText(toMs - fromMs)}`}</title>
      {bars.map((bar) => (
        <BarView key={`${bar.kind} ${bar.fromMs}`} bar={bar} y={y} x={x} />
      ))}
    </g>
  );
}

interface NameProps {
  readonly voice: Voice;
  readonly y: number;
  readonly from: number;
  /** Up to where the name may go. */
  readonly roomTo: number;
  readonly isSelected: boolean;
}

/** Above what is hatched. As much of the name as there is room for. */
function VoiceName({ voice: { name }, y, from, roomTo, isSelected }: NameProps): JSX.Element | null {
  const room = Math.floor((roomTo - from - 6) / LETTER);
  const letters = Array.from(name);
  const label = letters.length <= room ? name : room >= 4 ? `${letters.slice(0, room - 1).join("")}…` : "";
  if (label === "") return null;
  return (
    <text class={isSelected ? "voice-name selected" : "voice-name"} x={from} y={y - BAR / 2 - 5}>
      {label}
    </text>
  );
}

function BarView({
  bar,
  y,
  x,
}: {
  readonly bar: Bar;
  readonly y: number;
  readonly x: (ms: number) => number;
}): JSX.Element {
  const { kind, fromMs, toMs, isOpen } = bar;
  const from = x(fromMs);
  const width = Math.max(3, x(toMs) - from);
  switch (kind) {
    case "sleep":
    case "wait":
    case "queue":
    case "backoff":
      return (
        <g class={`bar ${kind}`}>
          <rect x={from} y={y - 5} width={width} height={10} rx={Math.min(5, width / 2)} />
          {isOpen && <path d={`M${from + width - 5} ${y - 5}l5 5-5 5`} />}
        </g>
      );
    default:
      return (
        <g class={`bar ${kind}`}>
          <rect x={from} y={y - BAR / 2} width={width} height={BAR} rx={Math.min(4, width / 2)} />
          {kind === "failed" && width >= 14 && <path d={`M${from + width - 10} ${y - 3}l6 6m0-6l-6 6`} />}
        </g>
      );
  }
}

interface BlockProps {
  readonly block: Block;
  readonly x: (ms: number) => number;
  readonly height: number;
}

function BlockView({ block, x, height }: BlockProps): JSX.Element {
  const { fromMs, toMs, stall } = block;
  return (
    <g class="block">
      <rect
        x={x(fromMs)}
        y={TOP - 8}
        width={Math.max(3, x(toMs) - x(fromMs))}
        height={height - TOP + 8}
        fill="url(#hatch)"
      />
      <title>{`The main thread was blocked for ${durationText(stall.stalledMs)}`}</title>
    </g>
  );
}
