/** Writes log lines: JSON for machines, short readable ones for people. */
import { createRequire } from "node:module";
import type { Log } from "@holdfast/core";
import { LOG_LEVEL_NAMES, type LogFormat, type LogLevelName } from "../config/command-options.ts";
import { oneLine, visible } from "./table.ts";

/** Loaded with the first line, and at once: a line that waited could be lost with its process. */
const loadPino = (): typeof import("pino") => createRequire(import.meta.url)("pino");

export interface LogTarget {
  write(text: string): void;
}

/** The gateway's log: JSON lines for machines, short readable ones for people. */
export function createLog(target: LogTarget, level: LogLevelName, format: LogFormat, colours = false): Log {
  const destination = format === "json" ? target : { write: (line: string) => target.write(prettyLine(line, colours)) };
  const open = (): import("pino").Logger => {
    const { pino } = loadPino();
    return pino(
      {
        level,
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      destination,
    );
  };
  const least = LOG_LEVEL_NAMES.indexOf(level);
  let logger: ReturnType<typeof open> | undefined;
  return (recordLevel, message, data) => {
    if (LOG_LEVEL_NAMES.indexOf(recordLevel) < least) return;
    logger ??= open();
    if (data) logger[recordLevel](data, message);
    else logger[recordLevel](message);
  };
}

const MARKS: Readonly<Record<string, readonly [text: string, colour: number]>> = {
  debug: ["debug", 90],
  info: ["info ", 36],
  warn: ["warn ", 33],
  error: ["error", 31],
};
const HIDDEN = new Set(["level", "time", "msg"]);

/** Names of events and notes come from their senders; a stack alone has lines. */
function fieldText(key: string, value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return key === "stack" ? visible(text) : oneLine(text);
}

/** `12:34:56 info  message  key=value`; what cannot be read stays as it is. */
export function prettyLine(line: string, colours: boolean): string {
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(line);
  } catch {
    return line;
  }
  const paint = (code: number, text: string): string => (colours ? `\u001b[${code}m${text}\u001b[0m` : text);
  const [mark, colour] = MARKS[String(record.level)] ?? ["?    ", 0];
  const fields = Object.entries(record)
    .filter(([key, value]) => !HIDDEN.has(key) && value !== undefined)
    .map(([key, value]) => `${key}=${fieldText(key, value)}`);
  const tail = fields.length > 0 ? `  ${paint(90, fields.join(" "))}` : "";
  return `${paint(90, String(record.time).slice(11, 19))} ${paint(colour, mark)} ${visible(String(record.msg))}${tail}\n`;
}
