/** `replay` and `check`: would a build of an app do what is on record, and go on from there? */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { HoldfastError, messageOf } from "@holdfast/core";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { exportedLines, listedRuns, type RunsWanted } from "./exported-runs.ts";
import type { GatewayClient } from "./gateway-client.ts";
import { type Output, printJson } from "./output.ts";
import { withProgress } from "./progress.ts";
import { AppReplay } from "./replay/app-replay.ts";
import type { ReplayResult, ShownDivergence } from "./replay/replay-messages.ts";
import { CHECK_OPTIONS, REPLAY_OPTIONS } from "./replay-options.ts";
import { oneLine, tableText } from "./table.ts";

const LIVING = "PENDING,RUNNING,WAITING";

export async function replayRuns(context: CommandContext): Promise<ExitCode> {
  const options = readOptions(REPLAY_OPTIONS, context);
  const { output, args } = context;
  const results = await withReplay(options, async (replay) => {
    for await (const line of linesOf(args[0] ?? "-")) await replay.run(line);
    return replay.finish();
  });
  if (results.length === 0) throw new HoldfastError("EXPORT_INVALID", "There is no run in what is to be replayed.");
  if (options.json) printJson(output, { runs: results });
  else for (const result of results) output.print(`${textOf(result)}\n`);
  return codeOf(results);
}

async function withReplay<T>(
  options: Parameters<typeof AppReplay.open>[0],
  work: (replay: AppReplay) => Promise<T>,
): Promise<T> {
  const replay = await AppReplay.open(options);
  try {
    return await work(replay);
  } finally {
    replay.close();
  }
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const input = file === "-" ? process.stdin : createReadStream(file);
  const failed = new Promise<never>((_resolve, reject) => {
    input.once("error", (cause: unknown) =>
      reject(new HoldfastError("GATEWAY_USAGE", `${file} cannot be read: ${messageOf(cause)}.`, { cause })),
    );
  });
  failed.catch(() => {});
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })[Symbol.asyncIterator]();
  for (;;) {
    const next = await Promise.race([lines.next(), failed]);
    if (next.done) return;
    if (next.value.trim() !== "") yield next.value;
  }
}

export async function checkRuns(context: CommandContext): Promise<ExitCode> {
  const options = readOptions(CHECK_OPTIONS, context);
  const { all, json } = options;
  const { output } = context;
  const client = clientOf(context);
  const { functions, results } = await withReplay(options, async (replay) => {
    const progress = (): string => `Replaying living runs … ${replay.results.length}`;
    await withProgress(output, progress, () => replayLiving(replay, client, options));
    return { functions: replay.functions, results: await replay.finish() };
  });
  const once = [...new Map(results.map((result) => [result.runId, result])).values()];
  if (json) printJson(output, { functions, checked: once.length, runs: all ? once : once.filter(differs) });
  else printCheck(output, once, all);
  return codeOf(once);
}

async function replayLiving(
  replay: AppReplay,
  client: GatewayClient,
  { function: fn, limit }: Pick<RunsWanted, "function" | "limit">,
): Promise<void> {
  // In one list: of several, one after the other, a run that changes its status meanwhile could be in none.
  for await (const runs of listedRuns(client, { status: LIVING, function: fn, limit })) {
    const ids = runs.filter((run) => isOfApp(replay, run)).map(({ id }) => id);
    for await (const line of exportedLines(client, ids, true)) await replay.run(line);
  }
}

/** Functions of other apps are other builds' concern. */
function isOfApp({ functions }: AppReplay, { appId, functionId }: { appId: string; functionId: string }): boolean {
  return functions.some((slug) => slug === functionId || slug.startsWith(`${appId}-`));
}

const differs = ({ divergence }: ReplayResult): boolean => divergence !== null;

const codeOf = (results: readonly ReplayResult[]): ExitCode => (results.some(differs) ? EXIT.diverged : EXIT.done);

function printCheck(output: Output, results: readonly ReplayResult[], all: boolean): void {
  if (results.length === 0) return output.note("There are no living runs of this app.\n");
  const groups = new Map<string, ReplayResult[]>();
  for (const result of results) {
    const key = `${result.functionId}\n${result.appVersion}`;
    groups.set(key, [...(groups.get(key) ?? []), result]);
  }
  const rows = [...groups.values()].map((group) => {
    const { functionId = "", appVersion = "" } = group[0] ?? {};
    const bad = group.filter(differs);
    const [first] = bad;
    const where = first ? `${whereOf(first)} (run ${first.runId})` : "";
    return [functionId, appVersion || "-", String(group.length), String(bad.length), where];
  });
  output.print(
    tableText(["FUNCTION", "VERSION", "RUNS", "DIFFER", "FIRST"], rows, output.isTerminal ? output.columns : 0),
  );
  if (all) for (const result of results.filter(differs)) output.print(`${textOf(result)}\n`);
  const bad = results.filter(differs).length;
  output.note(
    bad === 0 ? "This build goes on with all of them.\n" : `${bad} of ${results.length} runs would differ.\n`,
  );
}

function textOf(result: ReplayResult): string {
  const { runId, functionId, steps, next } = result;
  const head = `${oneLine(runId)}  ${oneLine(functionId)}`;
  if (differs(result)) return `${head}  differs: ${oneLine(whereOf(result))}`;
  const then = next.length === 0 ? "" : `, goes on with ${next.map((step) => `"${oneLine(step)}"`).join(", ")}`;
  return `${head}  the same, ${steps} ${steps === 1 ? "step" : "steps"}${then}`;
}

const NOTHING: ShownDivergence = { type: "" };

/** In words. */
function whereOf({ divergence }: ReplayResult): string {
  const { type, step = "", after = "", recorded = "", found = "", message = "" } = divergence ?? NOTHING;
  switch (type) {
    case "function-missing":
      return "this build has no such function";
    case "step-missing":
      return `step "${step}" is on record and not asked for any more`;
    case "step-new":
      return `step "${step}" is new, and the run had ended without it`;
    case "step-different":
      return `${recorded} is on record where the code now has ${found}`;
    case "step-order":
      return `step "${step}" comes after "${after}" now`;
    case "handler-stuck":
      return "the handler waits for something that is no step";
    case "handler-blocked":
      return "the handler computes without an end";
    case "process-ended":
      return `its code ends the process (${message})`;
    case "handler-failed":
      return `the handler throws: ${message}`;
    default:
      return message || type;
  }
}
