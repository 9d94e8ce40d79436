/** `export`: writes runs with their logs; and how `check` reads the same of living ones. */
import { HoldfastError } from "@holdfast/core";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import type { GatewayClient } from "./gateway-client.ts";
import { whenTaken } from "./output.ts";
import { EXPORT_OPTIONS } from "./replay-options.ts";

/** What each line of an export names. Readers refuse others. */
export const RUN_FORMAT = "holdfast-run/1";

export interface ListedRun {
  readonly id: string;
  readonly appId: string;
  readonly functionId: string;
}

interface Page {
  readonly runs: readonly ListedRun[];
  readonly nextCursor: string | null;
}

export interface RunsWanted {
  readonly status?: string | undefined;
  readonly function?: string | undefined;
  readonly limit: number;
}

const PAGE = 500;
/** Runs that are read at the same time. */
const AT_ONCE = 8;

/** Heads of runs, the newest first, a page at a time. */
export async function* listedRuns(client: GatewayClient, wanted: RunsWanted): AsyncGenerator<readonly ListedRun[]> {
  let left = wanted.limit;
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: String(Math.min(PAGE, left)) });
    if (wanted.status !== undefined) query.set("status", wanted.status);
    if (wanted.function !== undefined) query.set("function", wanted.function);
    if (cursor !== null) query.set("cursor", cursor);
    const page: Page = await client.get<Page>(`/v1/runs?${query}`);
    yield page.runs;
    left -= page.runs.length;
    cursor = page.nextCursor;
  } while (cursor !== null && left > 0);
}

/** Lines of an export, in the order of `ids`. A run that was removed meanwhile is left out where `mayBeGone`. */
export async function* exportedLines(
  client: GatewayClient,
  ids: readonly string[],
  mayBeGone: boolean,
): AsyncGenerator<string> {
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const lines = await Promise.all(ids.slice(at, at + AT_ONCE).map((id) => lineOf(client, id, mayBeGone)));
    for (const line of lines) if (line !== null) yield line;
  }
}

async function lineOf(client: GatewayClient, id: string, mayBeGone: boolean): Promise<string | null> {
  try {
    const run = await client.get<object>(`/v1/runs/${encodeURIComponent(id)}?log=1`);
    return JSON.stringify({ format: RUN_FORMAT, run });
  } catch (error) {
    if (mayBeGone && HoldfastError.is(error) && error.code === "NOT_FOUND") return null;
    throw error;
  }
}

export async function exportRuns(context: CommandContext): Promise<ExitCode> {
  const { status, function: fn, limit } = readOptions(EXPORT_OPTIONS, context);
  const { output, args } = context;
  const client = clientOf(context);
  let count = 0;
  const write = async (ids: readonly string[], mayBeGone: boolean): Promise<void> => {
    for await (const line of exportedLines(client, ids, mayBeGone)) {
      output.print(`${line}\n`);
      await whenTaken();
      count += 1;
    }
  };
  if (args.length > 0) await write(args, false);
  else {
    for await (const runs of listedRuns(client, { status: status?.join(","), function: fn, limit })) {
      await write(
        runs.map(({ id }) => id),
        true,
      );
    }
  }
  output.note(`${count} ${count === 1 ? "run" : "runs"}\n`);
  return EXIT.done;
}
