/** `cancel`, `rerun`, `compensate`, `delete`: of runs that are named, or of all that fit a filter (`bulk.ts`). */
import type { ResolvedTable } from "../config/option-kinds.ts";
import { usage } from "../config/settings.ts";
import { runBulk } from "./bulk.ts";
import { CLIENT_OPTIONS } from "./client-options.ts";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { jsonArgument } from "./json-argument.ts";
import { oneByOne } from "./one-by-one.ts";
import { CANCEL_OPTIONS, DELETE_OPTIONS, type FILTER_OPTIONS, RERUN_OPTIONS } from "./repair-options.ts";
import type { ShownRun } from "./run-text.ts";

const pathOf = (id: string, verb = ""): string => `/v1/runs/${encodeURIComponent(id)}${verb}`;

type Filter = ResolvedTable<typeof FILTER_OPTIONS>;

/** Null: runs are named. */
export function filterOf({ args }: CommandContext, options: Filter): Record<string, unknown> | null {
  const { function: functionId, status, event: eventName, eventId, key } = options;
  const { graph, tenant, error, after, before, all } = options;
  const given = {
    ...(functionId === undefined ? {} : { functionId }),
    ...(status === undefined ? {} : { status: status.split(",").map((one) => one.trim().toUpperCase()) }),
    ...(eventName === undefined ? {} : { eventName }),
    ...(eventId === undefined ? {} : { eventId }),
    ...(key === undefined ? {} : { key }),
    ...(graph === undefined ? {} : { graph }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(error === undefined ? {} : { error }),
    ...(after === undefined ? {} : { after }),
    ...(before === undefined ? {} : { before }),
    ...(all ? { all: true } : {}),
  };
  const isFiltered = Object.keys(given).length > 0;
  if (args.length > 0 && isFiltered) throw usage("Name runs, or give a filter, not both.");
  if (args.length > 0) return null;
  if (isFiltered) return given;
  throw usage(
    "Name runs by their ids, or say which by a filter, such as --function, --status or --after; --all is every run.",
  );
}

export async function cancelRuns(context: CommandContext): Promise<ExitCode> {
  const options = readOptions(CANCEL_OPTIONS, context);
  const filter = filterOf(context, options);
  if (filter) return runBulk(context, options, { action: "cancel", filter });
  const client = clientOf(context);
  const results = await oneByOne(context, {
    json: options.json,
    work: async (id) => {
      const { cancelled, run } = await client.post<{ cancelled: boolean; run: ShownRun }>(pathOf(id, "/cancel"));
      return { id, cancelled, status: run.status };
    },
    line: ({ id, cancelled, status }) => `${id}  ${cancelled ? "cancelled" : `was ${status.toLowerCase()} already`}`,
    whole: (runs) => ({ runs }),
  });
  return results.every(({ status }) => status === "CANCELLED") ? EXIT.done : EXIT.otherwise;
}

export async function rerunRuns(context: CommandContext): Promise<ExitCode> {
  const options = readOptions(RERUN_OPTIONS, context);
  const { from, result, appVersion } = options;
  if (result !== undefined && from === undefined)
    throw usage("--result belongs to --from: it is what that step gives.");
  const version = appVersion === undefined ? {} : { appVersion };
  const filter = filterOf(context, options);
  if (filter) {
    if (from !== undefined) throw usage("--from is for runs that are named, not for a filter.");
    const taken = options.again ? { ...filter, again: true } : filter;
    return runBulk(context, options, { action: "rerun", filter: taken, ...version });
  }
  const client = clientOf(context);
  const edited = result === undefined ? {} : { result: jsonArgument("--result", result) };
  await oneByOne(context, {
    json: options.json,
    work: async (id) => {
      const { runId } =
        from === undefined
          ? await client.post<{ runId: string }>(pathOf(id, "/rerun"), version)
          : await client.post<{ runId: string }>(pathOf(id, "/fork"), { step: from, ...edited, ...version });
      return { id, runId };
    },
    line: ({ id, runId }) => `${id}  new run ${runId}`,
    whole: (runs) => ({ runs }),
  });
  return EXIT.done;
}

export async function compensateRuns(context: CommandContext): Promise<ExitCode> {
  const { json } = readOptions(CLIENT_OPTIONS, context);
  const client = clientOf(context);
  const results = await oneByOne(context, {
    json,
    work: async (id) => {
      const path = pathOf(id, "/compensations/retry");
      const { retried, run } = await client.post<{ retried: boolean; run: ShownRun }>(path);
      return { id, retried, status: run.status };
    },
    line: (result) => `${result.id}  ${undoingText(result)}`,
    whole: (runs) => ({ runs }),
  });
  return results.some(isLeftAsItIs) ? EXIT.otherwise : EXIT.done;
}

interface Undoing {
  readonly retried: boolean;
  readonly status: string;
}

/** It may have steps that are not undone, and none of them will be. */
const isLeftAsItIs = ({ retried, status }: Undoing): boolean => !retried && status === "CANCELLED";

function undoingText(result: Undoing): string {
  if (result.retried) return "undoes what is left";
  if (!isLeftAsItIs(result)) return "has nothing left to undo";
  return 'was cancelled, and cancelled runs are not undone (docs/sagas.md, "What is undone when")';
}

export async function deleteRuns(context: CommandContext): Promise<ExitCode> {
  const options = readOptions(DELETE_OPTIONS, context);
  const filter = filterOf(context, options);
  if (filter) return runBulk(context, options, { action: "delete", filter });
  const client = clientOf(context);
  await oneByOne(context, {
    json: options.json,
    work: async (id) => {
      await client.delete(`${pathOf(id)}${options.cancel ? "?cancel=1" : ""}`);
      return id;
    },
    line: (id) => `${id}  deleted`,
    whole: (deleted) => ({ deleted }),
  });
  return EXIT.done;
}
