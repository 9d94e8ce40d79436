/** `runs` and `run`: what a gateway says of runs. */
import { isUlid } from "@holdfast/core";
import { awaitRuns, exitCodeOfRuns, getRun } from "./await-runs.ts";
import { RUN_OPTIONS, RUNS_OPTIONS } from "./client-options.ts";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { printJson } from "./output.ts";
import { withProgress } from "./progress.ts";
import { runsText, runText, type ShownRun } from "./run-text.ts";
import { noteUnknown } from "./unknown-names.ts";

interface RunPage {
  readonly runs: readonly ShownRun[];
  readonly nextCursor: string | null;
}

type Client = ReturnType<typeof clientOf>;

export async function listRuns(context: CommandContext): Promise<ExitCode> {
  const options = readOptions(RUNS_OPTIONS, context);
  const { output } = context;
  const { waiting } = options;
  const query = new URLSearchParams();
  if (options.status !== undefined) query.set("status", options.status.join(","));
  for (const name of FILTERS) {
    const value = options[name];
    if (value !== undefined) query.set(name, value);
  }
  if (waiting || options.why) query.set("waiting", waiting ? "only" : "1");
  const client = clientOf(context);
  const page = await withProgress(
    output,
    () => "Reading runs …",
    () => readRuns(client, query, options),
  );
  if (options.json) {
    printJson(output, page);
    return EXIT.done;
  }
  if (page.runs.length === 0) {
    output.note("There are no such runs.\n");
    const { event, eventName = event } = options;
    await noteUnknown(context, client, {
      eventName: eventName !== undefined && isUlid(eventName) ? undefined : eventName,
    });
  } else output.print(runsText(page.runs, output.isTerminal ? output.columns : 0, waiting || options.why));
  if (page.nextCursor !== null) output.note(`More: --cursor ${page.nextCursor}\n`);
  return EXIT.done;
}

const FILTERS = [
  "function",
  "event",
  "eventName",
  "eventId",
  "key",
  "graph",
  "tenant",
  "error",
  "after",
  "before",
] as const;

/** Where runs that fit are rare a page of the gateway comes short, and says where to go on. */
async function readRuns(
  client: Client,
  query: URLSearchParams,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<RunPage> {
  const runs: ShownRun[] = [];
  let next: string | null | undefined = cursor;
  do {
    query.set("limit", String(limit - runs.length));
    if (next !== undefined) query.set("cursor", next);
    const page: RunPage = await client.get<RunPage>(`/v1/runs?${query}`);
    runs.push(...page.runs);
    next = page.nextCursor;
  } while (next !== null && runs.length < limit);
  return { runs, nextCursor: next };
}

export async function showRun(context: CommandContext): Promise<ExitCode> {
  const { json, wait, log, links, timeoutMs, full } = readOptions(RUN_OPTIONS, context);
  const { output, args } = context;
  const client = clientOf(context);
  const [id = ""] = args;
  const runs = wait
    ? await awaitRuns(client, [id], { output, timeoutMs, log, links, speaks: true })
    : [await getRun(client, id, { log })];
  for (const run of runs) {
    if (json) printJson(output, run);
    else output.print(runText(run, output.isTerminal ? output.columns : 0, output.isTerminal && !full));
  }
  return wait ? exitCodeOfRuns(runs) : EXIT.done;
}
