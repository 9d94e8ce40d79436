/**
 * The client's logger as a plain handler in a pool thread has it: lines go to main, which gives them to the logger that
 * the app made, or to a child of it with the same fields.
 */
import { format } from "node:util";
import type { LoggerLike } from "@holdfast/core";
import type { LineFields } from "../shared/isolation-messages.ts";
import type { Print } from "./output.ts";

type ForwardingLogger = LoggerLike & { child(fields: LineFields): ForwardingLogger };

export function forwardingLogger(appId: string, print: Print, fields: LineFields = {}): ForwardingLogger {
  const line =
    (level: "debug" | "info" | "warn" | "error") =>
    (...given: unknown[]): void =>
      print(level, format(...given), { appId, args: given.map(sendable), fields });
  return {
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
    child: (more) => forwardingLogger(appId, print, { ...fields, ...(sendable(more) as LineFields) }),
  };
}

/** What cannot cross to main is shown as text. */
function sendable(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return format(value);
  }
}
