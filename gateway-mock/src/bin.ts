#!/usr/bin/env node
/** The program `holdfast-gateway`: reads the command line, runs the command, and ends with its exit code. */
import { errorPage, HoldfastError, messageOf } from "@holdfast/core";
import { type Invocation, parseCommandLine } from "./cli/command-line.ts";
import { EXIT, exitCodeOf } from "./cli/exit-codes.ts";
import { endWithReader, processOutput, whenPrinted } from "./cli/output.ts";
import { runCommand } from "./cli/run-command.ts";
import { VERSION } from "./version.ts";

const LONG_RUNNING: readonly string[] = ["dev", "start"];

async function main(): Promise<number> {
  const { env, argv, stdout } = process;
  const invocation: Invocation = parseCommandLine(argv.slice(2), stdout.columns);
  const output = processOutput(env);
  switch (invocation.type) {
    case "help":
      endWithReader();
      output.print(invocation.text);
      return EXIT.done;
    case "version":
      output.print(`${VERSION}\n`);
      return EXIT.done;
    case "command": {
      const { name, args, flags } = invocation;
      if (!LONG_RUNNING.includes(name)) endWithReader();
      return runCommand(name, { args, flags, env, output });
    }
  }
}

function report(error: unknown): void {
  const code = HoldfastError.is(error) ? error.code : "INTERNAL";
  const message = HoldfastError.is(error) ? error.message : `Unexpected: ${messageOf(error)}`;
  const asJson = process.argv.includes("--json") || /^(1|on|true)$/i.test(process.env.HOLDFAST_GATEWAY_JSON ?? "");
  process.stderr.write(
    asJson ? `${JSON.stringify({ error: message, code })}\n` : `holdfast-gateway: ${message} (${code})\n`,
  );
  // Wrong usage says itself what to do.
  if (asJson || !process.stderr.isTTY || code === "GATEWAY_USAGE") return;
  process.stderr.write(`More: ${errorPage(code) ?? `holdfast-gateway explain ${code}`}\n`);
}

main().then(end, (error: unknown) => {
  report(error);
  end(exitCodeOf(error));
});

function end(code: number): void {
  whenPrinted(() => process.exit(code));
}
