/** What Holdfast logs to, and how a line gets there: a console is written to as people read, other loggers get the data. */
import { ConsoleLines } from "./console-line.ts";
import { LOG_LEVELS, type Log, type LoggerLike, type LogLevel, type LogRecord } from "./log-record.ts";

/** For all consoles of the process, which mostly are one. */
export const consoleLines = /* @__PURE__ */ new ConsoleLines();

/**
 * Data goes first, as pino wants it; on a console it comes after the message. A logger that throws never breaks the
 * caller.
 */
export function logTo(logger: LoggerLike, record: LogRecord): void {
  const { level, message, data } = record;
  try {
    let returned: unknown;
    // What a program writes to stdout may be data: on a console every level goes to stderr.
    if (isConsole(logger)) returned = logger[TO_STDERR[level]](consoleLines.lineOf(record));
    else returned = data ? logger[level](data, message) : logger[level](message);
    // One that is asynchronous may fail later.
    if (typeof returned === "object" && returned !== null) new Promise((resolve) => resolve(returned)).catch(() => {});
  } catch {
    // The user's logger failed; there is nowhere left to report it.
  }
}

/** The methods of a console that write to stderr; a page's console keeps what is wrong apart from what is not. */
const TO_STDERR = { debug: "warn", info: "warn", warn: "warn", error: "error" } as const satisfies Record<
  LogLevel,
  keyof LoggerLike
>;

/** A console of any kind: that of the process, of a test runner, or one made with `new Console()`. */
function isConsole(logger: LoggerLike): boolean {
  const { table, dir, group } = logger as Partial<Record<"table" | "dir" | "group", unknown>>;
  return typeof table === "function" && typeof dir === "function" && typeof group === "function";
}

/** What least is logged; `off` = nothing. */
export const LOG_LEVEL_CHOICES = [...LOG_LEVELS, "off"] as const;
/** As options have it. */
export type LogLevelChoice = (typeof LOG_LEVEL_CHOICES)[number];

/** What Holdfast itself logs, to this logger, from this level on. */
export function logFor(logger: LoggerLike, least: LogLevelChoice): Log {
  const from = LOG_LEVEL_CHOICES.indexOf(least);
  return (level, message, data, inWords) => {
    if (LOG_LEVEL_CHOICES.indexOf(level) < from) return;
    logTo(logger, { level, message, ...(data ? { data } : {}), ...(inWords ? { inWords } : {}) });
  };
}

export const silentLog: Log = () => {};
