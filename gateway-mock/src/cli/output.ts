/** Where a command writes: results to stdout, everything else to stderr; what a terminal is shown, a pipe is not. */
import { once } from "node:events";
import { EXIT, type ExitCode } from "./exit-codes.ts";

export interface Output {
  /** Results. */
  print(text: string): void;
  /** Progress, hints, errors. */
  note(text: string): void;
  readonly isTerminal: boolean;
  /** Whether stderr is one. */
  readonly showsProgress: boolean;
  readonly columns: number;
  readonly colours: boolean;
}

const PIPE_COLUMNS = 120;

/**
 * Once what was printed has left: a pipe may take longer than the process would live. Calls with what went wrong, such
 * as a disk that is full; that a reader has seen enough is nothing wrong.
 */
export function whenPrinted(done: (error: Error | undefined) => void): void {
  process.stdout.write("", "utf8", (error) => {
    const lost = error && !isEndOfReader(error) ? error : undefined;
    process.stderr.write("", () => done(lost));
  });
}

/**
 * Resolves once who reads stdout has taken what was printed, but for a small rest. What prints without end waits for it:
 * what a slow reader leaves would collect in memory.
 */
export async function whenTaken(): Promise<void> {
  // One that fails ends the program (`endWithReader`).
  if (process.stdout.writableNeedDrain) await once(process.stdout, "drain");
}

const isEndOfReader = ({ code }: NodeJS.ErrnoException): boolean => code === "EPIPE" || code === "ERR_STREAM_DESTROYED";

export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function processOutput(env: Environment): Output {
  return outputOf({ stdout: process.stdout, stderr: process.stderr }, env);
}

export function outputOf(streams: Readonly<Record<"stdout" | "stderr", OutputStream>>, env: Environment): Output {
  const isTerminal = streams.stdout.isTTY === true;
  return {
    print: (text) => void streams.stdout.write(text),
    note: (text) => void streams.stderr.write(text),
    isTerminal,
    showsProgress: streams.stderr.isTTY === true,
    columns: streams.stdout.columns || PIPE_COLUMNS,
    colours: isTerminal && !env.NO_COLOR && env.TERM !== "dumb",
  };
}

/** Says that what was printed did not arrive, and answers with the exit code of that. */
export function lostOutput(error: Error): ExitCode {
  process.stderr.write(
    `What this command prints could not be written: ${error.message}. Repeat it where its output has room.\n`,
  );
  return EXIT.failed;
}

/** A reader that has seen enough, such as `head`, ends the command without a word. */
export function endWithReader(): void {
  process.stdout.on("error", (error) => process.exit(isEndOfReader(error) ? EXIT.done : lostOutput(error)));
  process.stderr.on("error", () => {});
}

/** For a program that goes on without readers. */
export function outliveReaders(): void {
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => {});
}

export function printJson(output: Output, value: unknown): void {
  output.print(`${output.isTerminal ? shownJson(value) : JSON.stringify(value)}\n`);
}

/** JSON escapes only some of the characters that a terminal takes as commands. */
function shownJson(value: unknown): string {
  const escaped = (one: string): string => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, null, 2).replaceAll(/[\u007f-\u009f]/g, escaped);
}
