/** Numbers of as many moments, as bars; the newest at the right. What they come to is said beside. */
import type { JSX } from "preact";

export interface BarChartProps {
  readonly name: string;
  /** What the numbers come to, in words. */
  readonly said: string;
  readonly unit: string;
  readonly values: readonly number[];
  /** How many bars there is room for. */
  readonly room: number;
  readonly tone: "accent" | "bad" | "wait";
  /** What is as high as the chart at least. */
  readonly least: number;
}

const WIDTH = 240;
const HEIGHT = 44;

export function BarChart({ name, said, unit, values, room, tone, least }: BarChartProps): JSX.Element {
  const most = Math.max(least, ...values);
  const step = WIDTH / room;
  return (
    <figure class="card rate">
      <figcaption>
        <span>{name}</span>
        <strong>{said}</strong>
        <span class="faint">{unit}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" data-tone={tone}>
        <line x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
        {values.map((value, index) => {
          const height = (value / most) * (HEIGHT - 4);
          const x = WIDTH - (values.length - index) * step;
          return value === 0 ? null : (
            <rect key={index.toString()} x={x} y={HEIGHT - height} width={step * 0.8} height={height} />
          );
        })}
      </svg>
    </figure>
  );
}
