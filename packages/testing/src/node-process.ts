/**
 * Runs Node scripts as processes of a test, waits for what they print, and kills them with everything they started.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { deferred, HoldfastError, systemTimers, withTimeout } from "@holdfast/core";
import { defaultTimeoutMs } from "./default-timeout.ts";
import { reap, spare } from "./reaper.ts";
import { register } from "./registry.ts";

export interface SpawnNodeOptions {
  readonly args?: readonly string[];
  /** Added to this process's environment; `undefined` takes a variable away. */
  readonly env?: Readonly<{ [name: string]: string | undefined }>;
  readonly cwd?: string;
  /** Flags for Node itself, such as `--import tsx`. Default: none. */
  readonly execArgv?: readonly string[];
  /** Another Node than the one that runs the tests. */
  readonly execPath?: string;
  /** For failure texts. Default: the script's file name. */
  readonly name?: string;
  /** Opens an IPC channel; `send` and `onMessage` then work. Default false. */
  readonly ipc?: boolean;
}

/** How a process ended. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface WaitForLineOptions {
  /** Default 30 000, or what `HOLDFAST_TEST_TIMEOUT_MS` says. */
  readonly timeoutMs?: number;
  /** Only lines from this index of `lines` on. Default 0: also those seen already. */
  readonly since?: number;
}

/** A Node process that cannot outlive the test: it is killed when the test's process ends, however that ends. */
export interface NodeProcess {
  readonly pid: number;
  readonly name: string;
  /** Lines of standard output and error in the order in which they came; at most the last 20 000. */
  readonly lines: readonly string[];
  /** Settles when the process has ended and its output was read. */
  readonly exited: Promise<ProcessExit>;
  /** True until it has ended. */
  readonly running: boolean;
  /** The first line that matches; rejects with the last lines when none comes, or the process ends before. */
  waitForLine(match: RegExp | string | ((line: string) => boolean), options?: WaitForLineOptions): Promise<string>;
  /** Sends a signal (default SIGKILL) to the process and resolves when it has ended. */
  kill(signal?: NodeJS.Signals): Promise<ProcessExit>;
  /** Sends a signal and does not wait. */
  signal(signal: NodeJS.Signals): void;
  /** Writes to its standard input. */
  write(text: string): void;
  /** Sends a message over the IPC channel. */
  send(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  [Symbol.asyncDispose](): Promise<void>;
}

const MAX_LINES = 20_000;
const MAX_LINE_CHARS = 16 * 1024;
const SHOWN_LINES = 30;
const OUTPUT_GRACE_MS = 2_000;

/** Runs a script with Node. */
export function spawnNode(script: string | URL, options: SpawnNodeOptions = {}): NodeProcess {
  const path = script instanceof URL ? fileURLToPath(script) : script;
  const env: NodeJS.ProcessEnv = { ...process.env, ...options.env };
  for (const [name, value] of Object.entries(env)) if (value === undefined) delete env[name];
  const child = spawn(
    options.execPath ?? process.execPath,
    [...(options.execArgv ?? []), path, ...(options.args ?? [])],
    {
      cwd: options.cwd,
      env,
      // Leader of a group, so that what it starts can be ended with it.
      detached: process.platform !== "win32",
      stdio: ["pipe", "pipe", "pipe", options.ipc ? "ipc" : "ignore"],
    },
  );
  return new SpawnedNode(child, options.name ?? path.split(/[\\/]/).at(-1) ?? "node");
}

interface Waiter {
  readonly look: (line: string) => void;
  readonly fail: (error: HoldfastError) => void;
}

class SpawnedNode implements NodeProcess {
  readonly name: string;
  readonly lines: string[] = [];
  readonly exited: Promise<ProcessExit>;
  readonly #child: ChildProcess;
  readonly #waiters = new Set<Waiter>();
  #dropped = 0;
  #exit: ProcessExit | undefined;

  constructor(child: ChildProcess, name: string) {
    this.#child = child;
    this.name = name;
    const unregister = register("process", () => `process ${child.pid} (${name})`);
    const { pid } = child;
    if (pid !== undefined) reap(pid);
    for (const stream of [child.stdout, child.stderr]) if (stream) this.#readLines(stream);
    child.stdin?.on("error", () => {});
    this.exited = new Promise((resolve) => {
      const ended = (exit: ProcessExit): void => {
        if (this.#exit) return;
        this.#exit = exit;
        if (pid !== undefined) spare(pid);
        unregister();
        for (const { fail } of [...this.#waiters]) fail(this.#endedError("what was waited for"));
        resolve(exit);
      };
      child.once("error", (error) => {
        this.#addLine(`could not be run: ${error.message}`);
        if (pid === undefined) ended({ code: 127, signal: null });
      });
      child.once("close", (code, signal) => ended({ code, signal }));
      // What it started may hold its output open.
      child.once("exit", (code, signal) => {
        systemTimers.set(OUTPUT_GRACE_MS, () => ended({ code, signal }), { unref: true });
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get running(): boolean {
    return this.#exit === undefined;
  }

  async waitForLine(
    match: RegExp | string | ((line: string) => boolean),
    { timeoutMs = defaultTimeoutMs(), since = 0 }: WaitForLineOptions = {},
  ): Promise<string> {
    const matches = lineMatcher(match);
    const seen = this.lines.slice(Math.max(0, since - this.#dropped)).find(matches);
    if (seen !== undefined) return seen;
    const what = typeof match === "function" ? "a line that matches" : `a line that matches ${String(match)}`;
    if (this.#exit) throw this.#endedError(what);
    const { promise, resolve, reject } = deferred<string>();
    const waiter: Waiter = {
      look: (line) => void (matches(line) && resolve(line)),
      fail: () => reject(this.#endedError(what)),
    };
    this.#waiters.add(waiter);
    try {
      return await withTimeout(
        systemTimers,
        promise,
        timeoutMs,
        () =>
          new HoldfastError("TEST_TIMEOUT", `${this.name} did not print ${what} in ${timeoutMs} ms.${this.#tail()}`),
      );
    } finally {
      this.#waiters.delete(waiter);
    }
  }

  kill(signal: NodeJS.Signals = "SIGKILL"): Promise<ProcessExit> {
    this.signal(signal);
    return this.exited;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.running) this.#child.kill(signal);
  }

  write(text: string): void {
    this.#child.stdin?.write(text);
  }

  send(message: unknown): void {
    if (this.#child.connected) this.#child.send(message as object);
  }

  onMessage(listener: (message: unknown) => void): void {
    this.#child.on("message", listener);
  }

  /** With everything that it started and that is still in its group. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.running) return;
    try {
      process.kill(process.platform === "win32" ? this.pid : -this.pid, "SIGKILL");
    } catch {
      this.#child.kill("SIGKILL");
    }
    await this.exited;
  }

  #readLines(stream: Readable): void {
    let partial = "";
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      const parts = (partial + text).split(/\r?\n/);
      partial = parts.pop() ?? "";
      if (partial.length > MAX_LINE_CHARS) {
        parts.push(partial);
        partial = "";
      }
      for (const line of parts) this.#addLine(line);
    });
    stream.on("end", () => {
      if (partial !== "") this.#addLine(partial);
    });
  }

  #addLine(line: string): void {
    this.lines.push(line);
    if (this.lines.length > MAX_LINES) {
      this.lines.shift();
      this.#dropped += 1;
    }
    for (const { look } of [...this.#waiters]) look(line);
  }

  #endedError(what: string): HoldfastError {
    const { code, signal } = this.#exit ?? { code: null, signal: null };
    const how = signal ? `by ${signal}` : `with code ${code}`;
    return new HoldfastError(
      "TEST_PROCESS_ENDED",
      `${this.name} exited ${how} before it printed ${what}.${this.#tail()}`,
    );
  }

  #tail(): string {
    const shown = this.lines.slice(-SHOWN_LINES).map((line) => `  ${line}`);
    return shown.length > 0 ? ` Its last lines:\n${shown.join("\n")}` : " It printed nothing.";
  }
}

function lineMatcher(match: RegExp | string | ((line: string) => boolean)): (line: string) => boolean {
  if (typeof match === "function") return match;
  if (typeof match === "string") return (line) => line.includes(match);
  const pattern = new RegExp(match.source, match.flags.replace(/[gy]/g, ""));
  return (line) => pattern.test(line);
}
