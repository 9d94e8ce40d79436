/** One number a second for the last two minutes, as bars; the newest at the right. */
import type { JSX } from "preact";
import { countText } from "../data/format.ts";
import { KEPT_SECONDS } from "../data/rates.ts";

export interface RateChartProps {
  readonly name: string;
  readonly values: readonly number[];
  readonly tone: "accent" | "bad";
}

const WIDTH = 240;
const HEIGHT = 44;
/** What is said is of the last seconds, so that it can be read. */
const SAID_SECONDS = 5;

export function RateChart({ name, values, tone }: RateChartProps): JSX.Element {
  const most = Math.max(4, ...values);
  const newest = values.slice(-SAID_SECONDS);
  const rate = newest.length === 0 ? 0 : newest.reduce((sum, one) => sum + one, 0) / newest.length;
  const step = WIDTH / KEPT_SECONDS;
  return (
    <figure class="card rate">
      <figcaption>
        <span>{name}</span>
        <strong>{rate >= 10 || rate === 0 ? countText(Math.round(rate)) : rate.toFixed(1)}</strong>
        <span class="faint">a second</span>
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
