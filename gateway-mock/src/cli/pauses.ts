/** `pause` and `resume`: functions that are held up, and runs that failed and are to go on. */
import { isUlid } from "@holdfast/core";
import { runBulk } from "./bulk.ts";
import { PAUSE_OPTIONS } from "./client-options.ts";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import type { GatewayClient } from "./gateway-client.ts";
import { oneByOne } from "./one-by-one.ts";
import { filterOf } from "./repair.ts";
import { RESUME_OPTIONS } from "./repair-options.ts";

interface PausedFunction {
  readonly functionId: string;
  readonly changed: boolean;
  readonly pause: { readonly sinceAt: string; readonly note: string | null } | null;
}

const pathOf = (id: string, verb: string): string => `/v1/functions/${encodeURIComponent(id)}/${verb}`;

export async function pauseFunctions(context: CommandContext): Promise<ExitCode> {
  const { json, note } = readOptions(PAUSE_OPTIONS, context);
  const client = clientOf(context);
  await oneByOne(context, {
    json,
    work: (id) => client.post<PausedFunction>(pathOf(id, "pause"), note === undefined ? {} : { note }),
    line: ({ functionId, pause }) => `${functionId}  paused since ${pause?.sinceAt ?? ""}`,
    whole: (functions) => ({ functions }),
  });
  return EXIT.done;
}

type Resumed =
  | { readonly kind: "run"; readonly id: string; readonly status: string }
  | ({ readonly kind: "function"; readonly id: string } & PausedFunction);

/** Ids of runs are ULIDs, and no function is called so. */
export async function resume(context: CommandContext): Promise<ExitCode> {
  const options = readOptions(RESUME_OPTIONS, context);
  const { json, appVersion } = options;
  const version = appVersion === undefined ? {} : { appVersion };
  const filter = filterOf(context, options);
  if (filter) {
    const taken = options.again ? { ...filter, again: true } : filter;
    return runBulk(context, options, { action: "resume", filter: taken, ...version });
  }
  const client = clientOf(context);
  await oneByOne(context, {
    json,
    work: (id) => resumeOne(client, id, version),
    line: (one) => `${one.id}  ${resumedText(one)}`,
    whole: (resumed) => ({ resumed }),
  });
  return EXIT.done;
}

async function resumeOne(client: GatewayClient, id: string, version: object): Promise<Resumed> {
  if (isUlid(id)) {
    const { run } = await client.post<{ readonly run: { readonly status: string } }>(`/v1/runs/${id}/resume`, version);
    return { kind: "run", id, status: run.status };
  }
  const resumed = await client.post<PausedFunction>(pathOf(id, "resume"));
  return { kind: "function", id: resumed.functionId, ...resumed };
}

function resumedText(one: Resumed): string {
  if (one.kind === "run") return one.status.toLowerCase();
  return one.changed ? "resumed" : "was not paused";
}
