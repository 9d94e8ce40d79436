/** Carries out a command line, whether in a process of its own or in the thread of `dev` and `start`. */
import type { Mode } from "../config/modes.ts";
import type { Environment } from "../config/settings.ts";
import { VERSION } from "../version.ts";
import { parseCommandLine } from "./command-line.ts";
import type { CommandContext } from "./context.ts";
import { EXIT } from "./exit-codes.ts";
import type { Output } from "./output.ts";
import { runCommand } from "./run-command.ts";

export interface Surroundings {
  readonly env: Environment;
  readonly output: Output;
  /** Of the terminal, where it has some. */
  readonly columns: number | undefined;
  /** Runs a gateway until it ends. */
  serve(mode: Mode, context: CommandContext): Promise<number>;
}

/**
 * The exit code.
 *
 * @param words the command line without the program itself
 * @throws HoldfastError `GATEWAY_USAGE`; what the command throws
 */
export async function carryOut(words: readonly string[], surroundings: Surroundings): Promise<number> {
  const { env, output, columns, serve } = surroundings;
  const invocation = parseCommandLine(words, columns);
  switch (invocation.type) {
    case "help":
      output.print(invocation.text);
      return EXIT.done;
    case "version":
      output.print(`${VERSION}\n`);
      return EXIT.done;
    case "command": {
      const { name, args, flags } = invocation;
      const context = { args, flags, env, output };
      return name === "dev" || name === "start" ? serve(name, context) : runCommand(name, context);
    }
  }
}
