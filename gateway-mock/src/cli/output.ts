/** Where a command writes: results to stdout, everything else to stderr; what a terminal is shown, a pipe is not. */
import { EXIT } from "./exit-codes.ts";

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

export function processOutput(env: Readonly<Record<string, string | undefined>>): Output {
  const isTerminal = process.stdout.isTTY === true;
  return {
    print: (text) => void process.stdout.write(text),
    note: (text) => void process.stderr.write(text),
    isTerminal,
    showsProgress: process.stderr.isTTY === true,
    columns: process.stdout.columns || PIPE_COLUMNS,
    colours: isTerminal && !env.NO_COLOR && env.TERM !== "dumb",
  };
}

/** A reader that has seen enough, such as `head`, ends the command without a word. */
export function endWithReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) =>
    process.exit(error.code === "EPIPE" ? EXIT.done : EXIT.failed),
  );
  process.stderr.on("error", () => {});
}

/** For a program that goes on without readers. */
export function outliveReaders(): void {
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => {});
}

export function printJson(output: Output, value: unknown): void {
  output.print(`${JSON.stringify(value, null, output.isTerminal ? 2 : 0)}\n`);
}
