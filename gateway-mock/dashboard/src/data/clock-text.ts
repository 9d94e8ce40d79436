/** The time of day in the reader's time zone, with its day where that is another one than today. Pure but for that zone. */
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

const DAY_MS = 86_400_000;

/** `10:31:05`, and `27 Nov, 10:31:05` of what is more than half a day away. */
export const clockText = (ms: number, nowMs = Date.now()): string =>
  Math.abs(nowMs - ms) < DAY_MS / 2 ? clock.format(ms) : `${day.format(ms)}, ${clock.format(ms)}`;
