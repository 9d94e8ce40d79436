/** The words of logging: levels, loggers, records. `logger.ts` writes them. */
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
  /** Keys of `data` that the message says in words: a console does not show them again. */
  readonly inWords?: readonly string[];
}

/** The inner form that Holdfast's own code logs through. */
export type Log = (
  level: LogLevel,
  message: string,
  data?: Readonly<Record<string, unknown>>,
  inWords?: readonly string[],
) => void;
