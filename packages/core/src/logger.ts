/** Log levels, in rising order of weight. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * What Holdfast logs to. Console-shaped (`info("text", {...})`) and pino-shaped (`info({...}, "text")`) loggers both
 * have these four methods; `logTo` calls either the right way.
 */
export interface LoggerLike {
  debug(...args: unknown[]): void;
  info(...args: unknown[]): void;
  warn(...args: unknown[]): void;
  error(...args: unknown[]): void;
}

/** One log line before it reaches a logger: text, and data when there is some. */
export interface LogRecord {
  readonly level: LogLevel;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** The inner form that Holdfast's own code logs through. */
export type Log = (level: LogLevel, message: string, data?: Readonly<Record<string, unknown>>) => void;

/** Data goes first, as pino wants it; a console prints it just as well. A logger that throws never breaks the caller. */
export function logTo(logger: LoggerLike, record: LogRecord): void {
  const { level, message, data } = record;
  try {
    const returned: unknown = data ? logger[level](data, message) : logger[level](message);
    // One that is asynchronous may fail later.
    if (typeof returned === "object" && returned !== null) new Promise((resolve) => resolve(returned)).catch(() => {});
  } catch {
    // The user's logger failed; there is nowhere left to report it.
  }
}

export const silentLog: Log = () => {};
