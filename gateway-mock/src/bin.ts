#!/usr/bin/env node
/**
 * The program `holdfast-gateway`: carries out its command line, and ends with the exit code of that.
 *
 * `dev` and `start` do so in a thread (docs/decisions/0155), which is started before anything else is loaded.
 */
import { failureText } from "./cli/failure-text.ts";

/** What a gateway that has ended leaves who reads its output to take the last lines: a reader may be blocked for ever. */
const LAST_LINES_MS = 2_000;

const words = process.argv.slice(2);
const isGateway = words[0] === "dev" || words[0] === "start";

async function main(): Promise<number> {
  if (isGateway) return serve();
  const [{ carryOut }, { endWithReader, processOutput }] = await Promise.all([
    import("./cli/carry-out.ts"),
    import("./cli/output.ts"),
  ]);
  endWithReader();
  const { env, stdout } = process;
  return carryOut(words, { env, output: processOutput(env), columns: stdout.columns, serve });
}

async function serve(): Promise<number> {
  const { serveInThread } = await import("./cli/serve/gateway-process.ts");
  return serveInThread();
}

async function fail(error: unknown): Promise<number> {
  const { argv, env, stderr } = process;
  stderr.write(failureText(error, { argv, env, isTerminal: stderr.isTTY }));
  const { exitCodeOf } = await import("./cli/exit-codes.ts");
  return exitCodeOf(error);
}

async function end(code: number): Promise<void> {
  const { lostOutput, whenPrinted } = await import("./cli/output.ts");
  if (isGateway) setTimeout(() => process.exit(code), LAST_LINES_MS);
  whenPrinted((lost) => process.exit(lost && !isGateway ? lostOutput(lost) : code));
}

main().catch(fail).then(end);
