/** Draws the timeline of a run: tracks with bars on a time axis, blocked time hatched across all of them. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { durationText } from "../data/format.ts";
import { axisOf } from "../data/time-axis.ts";
import { type Bar, type Block, barNote, type Entry, type Timeline } from "../data/timeline.ts";
import { AxisLines, Breaks, SIDE, TOP } from "./timeline-axis.tsx";
import { BAR_WORDS } from "./timeline-legend.tsx";

const TRACK = 44;
const BAR = 16;
const LETTER = 7.2;

export interface TimelineViewProps {
  readonly timeline: Timeline;
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

export function TimelineView({ timeline, selected, onSelect }: TimelineViewProps): JSX.Element {
  const { ref, width } = useWidth();
  const axis = axisOf(timeline);
  const height = TOP + Math.max(1, timeline.tracks.length) * TRACK + 8;
  const x = (ms: number): number => SIDE + axis.at(ms) * Math.max(1, width - 2 * SIDE);
  const steps = timeline.tracks.flat().filter(({ step }) => step !== null).length;
  const lasted = durationText(timeline.toMs - timeline.fromMs);
  return (
    <div ref={ref} class="drawing timeline" tabIndex={0} role="group" aria-label="Timeline of the run">
      {width > 0 && (
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={`${steps} steps in ${lasted}; the list below has them`}
        >
          <Hatching />
          <AxisLines timeline={timeline} axis={axis} x={x} height={height} width={width} />
          {timeline.tracks.map((_, index) => (
            <line
              key={`line ${index.toString()}`}
              class="track"
              x1={SIDE}
              x2={width - SIDE}
              y1={middle(index)}
              y2={middle(index)}
            />
          ))}
          {timeline.tracks.map((track, index) =>
            track.map((entry) => (
              <EntryView
                key={keyOf(entry)}
                timeline={timeline}
                entry={entry}
                y={middle(index)}
                x={x}
                isSelected={entry.step !== null && entry.step.id === selected}
                onSelect={onSelect}
              />
            )),
          )}
          {timeline.tracks.map((_, index) => (
            <Breaks key={`breaks ${index.toString()}`} axis={axis} x={x} y={middle(index)} />
          ))}
          {timeline.blocks.map((block) => (
            <BlockView key={block.fromMs} block={block} x={x} height={height} />
          ))}
          {timeline.tracks.map((track, index) =>
            track.map((entry, place) => (
              <EntryNames
                key={keyOf(entry)}
                timeline={timeline}
                entry={entry}
                y={middle(index)}
                x={x}
                roomTo={place + 1 < track.length ? x(track[place + 1]?.fromMs ?? 0) : width - 4}
                isSelected={entry.step !== null && entry.step.id === selected}
              />
            )),
          )}
        </svg>
      )}
    </div>
  );
}

const keyOf = ({ step, name, fromMs }: Entry): string => step?.id ?? `${fromMs} ${name}`;
const middle = (track: number): number => TOP + track * TRACK + 28;

function Hatching(): JSX.Element {
  return (
    <defs>
      <pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <line class="hatch-line" x1="0" y1="0" x2="0" y2="7" />
      </pattern>
    </defs>
  );
}

interface EntryProps {
  readonly timeline: Timeline;
  readonly entry: Entry;
  readonly y: number;
  readonly x: (ms: number) => number;
  readonly isSelected: boolean;
  readonly onSelect: (stepId: string) => void;
}

function EntryView({ timeline, entry, y, x, isSelected, onSelect }: EntryProps): JSX.Element {
  const { step, bars } = entry;
  const select = step === null ? undefined : (): void => onSelect(step.id);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the picture is described as a whole, the list has the steps
    <g class={`entry${isSelected ? " selected" : ""}${select ? " can-select" : ""}`} onClick={select}>
      {bars.map((bar) => (
        <BarView key={`${bar.kind} ${bar.fromMs}`} bar={bar} title={titleOf(entry, bar, timeline)} y={y} x={x} />
      ))}
    </g>
  );
}

/** `charge card · failed attempt, 20 ms`, `in the queue, 7 ms`. */
function titleOf({ step, name }: Entry, bar: Bar, timeline: Timeline): string {
  const lasted = durationText(bar.toMs - bar.fromMs);
  if (step === null) return name.includes(lasted) ? name : `${name}, ${lasted}`;
  return `${name} · ${barNote(bar, timeline) ?? `${BAR_WORDS[bar.kind]}, ${lasted}`}`;
}

interface NamesProps {
  readonly timeline: Timeline;
  readonly entry: Entry;
  readonly y: number;
  readonly x: (ms: number) => number;
  /** Up to where the last one may go. */
  readonly roomTo: number;
  readonly isSelected: boolean;
}

/** Above what is hatched: what the entry is called, and where it waited for a worker in between. */
function EntryNames({ timeline, entry, y, x, roomTo, isSelected }: NamesProps): JSX.Element {
  const { step, name, bars, fromMs } = entry;
  const notes = step === null ? [] : bars.flatMap((bar) => ({ text: barNote(bar, timeline), atMs: bar.fromMs }));
  const texts = [
    { text: name, from: x(fromMs), isNote: false },
    ...notes.flatMap(({ text, atMs }) => (text === null ? [] : [{ text, from: x(atMs), isNote: true }])),
  ];
  return (
    <>
      {texts.map(({ text, from, isNote }, index) => {
        const label = cutText(text, (texts[index + 1]?.from ?? roomTo) - from - 6);
        const look = isNote ? " note" : isSelected ? " selected" : "";
        return (
          label !== "" && (
            <text key={from} class={`entry-name${look}`} x={from} y={y - BAR / 2 - 5}>
              {label}
            </text>
          )
        );
      })}
    </>
  );
}

/** As much of it as there is room for. */
function cutText(text: string, width: number): string {
  const room = Math.floor(width / LETTER);
  const letters = Array.from(text);
  if (letters.length <= room) return text;
  return room >= 4 ? `${letters.slice(0, room - 1).join("")}…` : "";
}

function BarView({
  bar,
  title,
  y,
  x,
}: {
  readonly bar: Bar;
  readonly title: string;
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
    case "lost":
      return (
        <g class={`bar ${kind}`}>
          <title>{title}</title>
          <rect x={from} y={y - 5} width={width} height={10} rx={Math.min(5, width / 2)} />
          {isOpen && <path d={`M${from + width - 5} ${y - 5}l5 5-5 5`} />}
        </g>
      );
    default:
      return (
        <g class={`bar ${kind}`}>
          <title>{title}</title>
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
