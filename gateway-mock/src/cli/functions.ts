/** `functions`: which functions there are, what starts them, and which of them are paused. */
import { CLIENT_OPTIONS } from "./client-options.ts";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { printJson } from "./output.ts";
import { oneLine, tableText } from "./table.ts";
import { noteUnknown } from "./unknown-names.ts";

interface ShownFunction {
  readonly id: string;
  readonly appVersion: string;
  readonly active: boolean;
  readonly queue: string;
  /** Connected ones that serve it. A gateway of an earlier version does not say. */
  readonly workers?: number;
  readonly triggers: readonly { readonly pattern?: unknown; readonly cron?: unknown }[];
  /** A gateway of an earlier version says none. */
  readonly hints?: readonly string[];
  readonly pause: { readonly sinceAt: string; readonly note: string | null } | null;
}

export async function listFunctions(context: CommandContext): Promise<ExitCode> {
  const { json } = readOptions(CLIENT_OPTIONS, context);
  const { output } = context;
  const client = clientOf(context);
  const answer = await client.get<{ readonly functions: readonly ShownFunction[] }>("/v1/functions");
  if (json) printJson(output, answer);
  else if (answer.functions.length === 0) {
    output.note("There are no functions yet: no app has connected.\n");
    await noteUnknown(context, client);
  } else {
    output.print(functionsText(answer.functions, output.isTerminal ? output.columns : 0));
    output.note(unservedText(answer.functions));
    for (const { id, hints = [] } of answer.functions) {
      for (const hint of hints) output.note(`${oneLine(`${id}: ${hint}`)}\n`);
    }
  }
  return EXIT.done;
}

function functionsText(functions: readonly ShownFunction[], columns: number): string {
  const rows = functions.map((one) => [
    one.id,
    stateOf(one),
    one.appVersion === "" ? "-" : one.appVersion,
    one.queue,
    one.workers === undefined ? "-" : String(one.workers),
    one.triggers.length === 0
      ? "only invoked"
      : one.triggers.map(({ pattern, cron }) => String(pattern ?? cron ?? "?")).join(", "),
  ]);
  return tableText(["FUNCTION", "STATE", "VERSION", "QUEUE", "WORKERS", "STARTED BY"], rows, columns);
}

function unservedText(functions: readonly ShownFunction[]): string {
  const ids = functions.flatMap(({ id, active, workers }) => (active && workers === 0 ? [id] : []));
  return ids.length === 0
    ? ""
    : `No worker is connected for ${oneLine(ids.join(", "))}: runs of these wait until one is.\n`;
}

function stateOf({ pause, active }: ShownFunction): string {
  if (pause) return pause.note === null ? "paused" : `paused: ${pause.note}`;
  return active ? "active" : "gone";
}
