/** `runs` and `run`: what a gateway says of runs. */
import { awaitRuns, exitCodeOfRuns, getRun } from "./await-runs.ts";
import { RUN_OPTIONS, RUNS_OPTIONS } from "./client-options.ts";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { printJson } from "./output.ts";
import { withProgress } from "./progress.ts";
import { runsText, runText, type ShownRun } from "./run-text.ts";

interface RunPage {
  readonly runs: readonly ShownRun[];
  readonly nextCursor: string | null;
}

export async function listRuns(context: CommandContext): Promise<ExitCode> {
  const options = readOptions(RUNS_OPTIONS, context);
  const { output } = context;
  const query = new URLSearchParams({ limit: String(options.limit) });
  if (options.status !== undefined) query.set("status", options.status.join(","));
  for (const name of ["function", "event", "eventName", "after", "before", "cursor"] as const) {
    const value = options[name];
    if (value !== undefined) query.set(name, value);
  }
  if (options.waiting) query.set("waiting", "1");
  const client = clientOf(context);
  const page = await withProgress(
    output,
    () => "Reading runs …",
    () => client.get<RunPage>(`/v1/runs?${query}`),
  );
  if (options.json) {
    printJson(output, page);
    return EXIT.done;
  }
  if (page.runs.length === 0) output.note("There are no such runs.\n");
  else output.print(runsText(page.runs, output.isTerminal ? output.columns : 0, options.waiting));
  if (page.nextCursor !== null && page.runs.length > 0) output.note(`More: --cursor ${page.nextCursor}\n`);
  return EXIT.done;
}

export async function showRun(context: CommandContext): Promise<ExitCode> {
  const { json, wait, log, links, timeoutMs } = readOptions(RUN_OPTIONS, context);
  const { output, args } = context;
  const client = clientOf(context);
  const [id = ""] = args;
  const runs = wait
    ? await awaitRuns(client, [id], { output, timeoutMs, log, links, speaks: true })
    : [await getRun(client, id, { log })];
  for (const run of runs) {
    if (json) printJson(output, run);
    else output.print(runText(run, output.isTerminal ? output.columns : 0));
  }
  return wait ? exitCodeOfRuns(runs) : EXIT.done;
}
