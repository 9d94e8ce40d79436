/**
 * What code in a pool thread prints: line by line to main, which logs it with the function, run and step whose turn it
 * is. Sent at once, so that what code printed before it is ended is not lost; main says how many lines it has taken. Of
 * what main cannot take in time the last lines are kept, since they are the error or the summary.
 */
import { setTimeout } from "node:timers";
import { format } from "node:util";
import type { LogLevel } from "@holdfast/core";
import type { PrintedLine } from "../shared/isolation-messages.ts";

export interface OutputPort {
  /** `dropped`: before these lines. */
  send(lines: readonly PrintedLine[], dropped: number, step: string | null): void;
  /** How many lines main has taken so far. */
  taken(): number;
  /** Whose body prints now; null = that of the turn's subject, or none. */
  step(): string | null;
}

/** Lines that main has not taken yet; further ones are kept here. */
const MAX_PENDING = 500;
/** Of those that are kept the last ones count; the others are dropped, and main is told how many. */
const MAX_KEPT = 100;
/** How soon kept lines are tried again. */
const RETRY_MS = 50;
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

interface KeptLine {
  readonly line: PrintedLine;
  readonly step: string | null;
}

/** Sends lines while main takes them, and keeps the last ones until then. */
export class LineSender {
  readonly #port: OutputPort;
  #sent = 0;
  #dropped = 0;
  #kept: KeptLine[] = [];

  constructor(port: OutputPort) {
    this.#port = port;
  }

  add(line: PrintedLine): void {
    const step = this.#port.step();
    if (this.#kept.length > 0) this.#sendKept();
    if (this.#kept.length === 0 && this.#hasRoom()) return this.#send({ line, step });
    this.#kept.push({ line, step });
    if (this.#kept.length === 1) this.#retryLater();
    if (this.#kept.length <= MAX_KEPT) return;
    this.#kept.shift();
    this.#dropped += 1;
  }

  /** Sends what is kept, also where main is behind: its turn is over, or the thread. */
  flush(): void {
    const kept = this.#kept;
    this.#kept = [];
    for (const one of kept) this.#send(one);
  }

  #hasRoom(): boolean {
    return this.#sent - this.#port.taken() < MAX_PENDING;
  }

  #sendKept(): void {
    while (this.#hasRoom()) {
      const next = this.#kept.shift();
      if (next === undefined) return;
      this.#send(next);
    }
  }

  #send({ line, step }: KeptLine): void {
    this.#sent += 1;
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.#port.send([line], dropped, step);
  }

  #retryLater(): void {
    const retry = (): void => {
      this.#sendKept();
      if (this.#kept.length > 0) this.#retryLater();
    };
    setTimeout(retry, RETRY_MS).unref();
  }
}

export interface CapturedOutput {
  readonly print: Print;
  /** Nothing that was printed waits here any more. */
  readonly flush: () => void;
}

/** From now on everything that is printed in this thread goes to the port; so does what is given to `print`. */
export function captureOutput(port: OutputPort): CapturedOutput {
  const sender = new LineSender(port);
  const print: Print = (level, text, logged) => {
    const cut = text.length > MAX_LINE_LENGTH ? `${text.slice(0, MAX_LINE_LENGTH)}... (cut)` : text;
    sender.add({ level, text: cut, ...(logged ? { logged } : {}) });
  };
  for (const [method, level] of Object.entries(CONSOLE_LEVELS)) {
    const key = method as keyof typeof CONSOLE_LEVELS;
    console[key] = (...args: unknown[]) => {
      const text = format(...args);
      print(level, key === "trace" ? `${text}\n${new Error("console.trace").stack ?? ""}` : text);
    };
  }
  // What is left: console.table() and the like, and code that writes by itself.
  const endLines = [
    redirect(process.stdout, (text) => print("info", text)),
    redirect(process.stderr, (text) => print("warn", text)),
  ];
  const flush = (): void => {
    for (const endLine of endLines) endLine();
    sender.flush();
  };
  return { print, flush };
}

/** Gives what prints a line that no newline has ended: what comes next may be another run's. */
function redirect(stream: NodeJS.WriteStream, print: (text: string) => void): () => void {
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
  return () => {
    const line = rest;
    rest = "";
    if (line !== "") print(line);
  };
}
