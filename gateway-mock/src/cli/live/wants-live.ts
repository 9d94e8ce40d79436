/** Whether `dev` shows a status area below its lines: on a terminal that people look at, unless they want lines only. Pure. */

export interface LiveChoice {
  /** `--no-live` sets it to false. */
  readonly live: boolean;
  readonly format: "pretty" | "json";
  /** Of stderr, where the log goes. */
  readonly isTerminal: boolean;
  readonly rows: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Below that the area would take too much of what is seen. */
const LEAST_ROWS = 8;

export function wantsLive({ live, format, isTerminal, rows, env }: LiveChoice): boolean {
  const { NO_COLOR, CI, TERM } = env;
  const isPlain = Boolean(NO_COLOR) || (CI !== undefined && CI !== "" && CI !== "false") || TERM === "dumb";
  return live && format === "pretty" && isTerminal && rows >= LEAST_ROWS && !isPlain;
}
