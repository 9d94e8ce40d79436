/** One number a second for the last two minutes, as bars. */
import type { JSX } from "preact";
import { countText } from "../data/format.ts";
import { KEPT_SECONDS } from "../data/rates.ts";
import { BarChart } from "./bar-chart.tsx";

export interface RateChartProps {
  readonly name: string;
  readonly values: readonly number[];
  readonly tone: "accent" | "bad";
  /** What happens now is not known. */
  readonly isOld: boolean;
}

/** What is said is of the last seconds, so that it can be read. */
const SAID_SECONDS = 5;

export function RateChart({ name, values, tone, isOld }: RateChartProps): JSX.Element {
  const newest = values.slice(-SAID_SECONDS);
  const rate = newest.length === 0 ? 0 : newest.reduce((sum, one) => sum + one, 0) / newest.length;
  const said = isOld ? "–" : rate >= 10 || rate === 0 ? countText(Math.round(rate)) : rate.toFixed(1);
  return <BarChart {...{ name, said, values, tone }} unit="a second" room={KEPT_SECONDS} least={4} />;
}
