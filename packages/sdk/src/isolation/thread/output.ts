/**
 * What code in a pool thread prints: line by line to main, which logs it with the function, run and step whose turn it
 * is. Sent at once, so that what code printed before it is ended is not lost; main says how many lines it has taken.
 */
import { format } from "node:util";
import type { LogLevel } from "@holdfast/core";
import type { PrintedLine } from "../shared/isolation-messages.ts";

export interface OutputPort {
  send(lines: readonly PrintedLine[], dropped: number): void;
  /** How many lines main has taken so far. */
  taken(): number;
}

/** Lines that main has not taken yet; further ones are dropped and counted. */
const MAX_PENDING = 500;
const MAX_LINE_LENGTH = 8_192;

const CONSOLE_LEVELS = {
  log: "info",
  info: "info",
  debug: "debug",
  warn: "warn",
  error: "error",
  trace: "debug",
} as const satisfies Partial<Record<keyof Console, LogLevel>>;

export type Print = (level: LogLevel, text: string, logged?: PrintedLine["logged"]) => void;

/** From now on everything that is printed in this thread goes to the port; so does what is given to the result. */
export function captureOutput(port: OutputPort): Print {
  let sent = 0;
  let dropped = 0;
  const print: Print = (level, text, logged) => {
    if (sent - port.taken() >= MAX_PENDING) {
      dropped += 1;
      return;
    }
    sent += 1;
    const cut = text.length > MAX_LINE_LENGTH ? `${text.slice(0, MAX_LINE_LENGTH)}... (cut)` : text;
    port.send([{ level, text: cut, ...(logged ? { logged } : {}) }], dropped);
    dropped = 0;
  };
  for (const [method, level] of Object.entries(CONSOLE_LEVELS)) {
    const key = method as keyof typeof CONSOLE_LEVELS;
    console[key] = (...args: unknown[]) => {
      const text = format(...args);
      print(level, key === "trace" ? `${text}\n${new Error("console.trace").stack ?? ""}` : text);
    };
  }
  // What is left: console.table() and the like, and code that writes by itself.
  redirect(process.stdout, (text) => print("info", text));
  redirect(process.stderr, (text) => print("warn", text));
  return print;
}

function redirect(stream: NodeJS.WriteStream, print: (text: string) => void): void {
  let rest = "";
  const write = (chunk: string | Uint8Array, ...others: readonly unknown[]): boolean => {
    const lines = (rest + (typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8"))).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_LINE_LENGTH) {
      lines.push(rest);
      rest = "";
    }
    for (const line of lines) if (line !== "") print(line);
    const onWritten = others.find((one) => typeof one === "function") as (() => void) | undefined;
    if (onWritten) queueMicrotask(onWritten);
    return true;
  };
  stream.write = write;
}
