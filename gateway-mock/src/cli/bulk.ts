/** Bulk jobs on the command line: a look before, progress while they are under way, and `bulk`, which shows them. */
import { createInterface } from "node:readline";
import { sleep, systemTimers } from "@holdfast/core";
import { usage } from "../config/settings.ts";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import type { GatewayClient } from "./gateway-client.ts";
import { type Output, printJson } from "./output.ts";
import { withProgress } from "./progress.ts";
import { BULK_OPTIONS } from "./repair-options.ts";
import { timeText } from "./run-text.ts";
import { tableText, visible } from "./table.ts";
import { noteUnknown } from "./unknown-names.ts";

const POLL_MS = 500;

interface ShownBulk {
  readonly id: string;
  readonly action: string;
  readonly status: string;
  readonly total: number | null;
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
  readonly errors: readonly string[];
  readonly createdMs: number;
}

interface Preview {
  readonly count: number;
  readonly isMore: boolean;
  /** A gateway of an earlier version leaves out none, and says none. */
  readonly leftOut?: number;
}

export interface BulkCommand {
  readonly action: "cancel" | "rerun" | "resume" | "delete";
  readonly filter: Readonly<Record<string, unknown>>;
  readonly appVersion?: string;
}

/** Says how many runs fit, asks unless told not to, and waits for the end of the job. */
export async function runBulk(
  context: CommandContext,
  { json, dryRun, yes }: { readonly json: boolean; readonly dryRun: boolean; readonly yes: boolean },
  command: BulkCommand,
): Promise<ExitCode> {
  const { output } = context;
  const client = clientOf(context);
  const preview = await withProgress(
    output,
    () => "Counting …",
    () => client.post<Preview>("/v1/bulk", { ...command, dryRun: true }),
  );
  const runs = `${preview.count}${preview.isMore ? " or more" : ""} ${preview.count === 1 ? "run" : "runs"}`;
  const { leftOut = 0 } = preview;
  if (leftOut > 0) output.note(leftOutText(leftOut));
  if (preview.count + leftOut === 0) {
    const { eventName } = command.filter;
    await noteUnknown(context, client, { eventName: typeof eventName === "string" ? eventName : undefined });
  }
  if (dryRun || preview.count === 0) {
    if (json) printJson(output, preview);
    else output.print(`${runs} would be ${PAST[command.action]}.\n`);
    return EXIT.done;
  }
  const consent = yes ? "yes" : await askedFor(output, `${PRESENT[command.action]} ${runs}?`);
  if (consent !== "yes") {
    output.note("Nothing was done. --yes does it without asking.\n");
    return consent === "interrupted" ? EXIT.interrupted : EXIT.usage;
  }
  const job = await followed(client, output, await client.post<ShownBulk>("/v1/bulk", command));
  if (json) printJson(output, job);
  else output.print(endText(job));
  return job.failed === 0 && job.status === "DONE" ? EXIT.done : EXIT.otherwise;
}

function leftOutText(count: number): string {
  const runs = count === 1 ? "1 run is left out that was" : `${count} runs are left out that were`;
  return `${runs} run again already; --again takes ${count === 1 ? "it" : "them"}, too.\n`;
}

const PAST = { cancel: "cancelled", rerun: "run again", resume: "resumed", delete: "deleted" } as const;
const PRESENT = { cancel: "Cancel", rerun: "Run again", resume: "Resume", delete: "Delete" } as const;

type Consent = "yes" | "no" | "interrupted";

/** Ctrl-C and Ctrl-D are answers, too: a terminal that is being read gives them as keys. */
async function askedFor(output: Output, question: string): Promise<Consent> {
  if (!output.showsProgress || process.stdin.isTTY !== true) return "no";
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const unanswered = (consent: Consent): Consent => {
    output.note("\n");
    return consent;
  };
  try {
    return await new Promise<Consent>((resolve) => {
      lines.once("SIGINT", () => resolve(unanswered("interrupted")));
      lines.once("close", () => resolve(unanswered("no")));
      lines.question(`${question} [y/N] `, (text) => resolve(/^y(es)?$/i.test(text.trim()) ? "yes" : "no"));
    });
  } finally {
    lines.removeAllListeners("close");
    lines.close();
  }
}

function followed(client: GatewayClient, output: Output, made: ShownBulk): Promise<ShownBulk> {
  let job = made;
  output.note(`Job ${made.id}; it goes on without this command. "holdfast-gateway bulk ${made.id} --stop" stops it.\n`);
  const text = (): string => `${job.done + job.skipped + job.failed} of ${job.total ?? "many"} runs …`;
  return withProgress(output, text, async () => {
    while (job.status === "RUNNING") {
      await sleep(systemTimers, POLL_MS);
      job = await client.get<ShownBulk>(`/v1/bulk/${made.id}`);
    }
    return job;
  });
}

function endText({ status, done, skipped, failed, errors }: ShownBulk): string {
  const counts = [`${done} done`, ...(skipped > 0 ? [`${skipped} skipped`] : []), `${failed} failed`].join(", ");
  const reasons = errors.map((one) => `  ${visible(one)}\n`).join("");
  return `${status === "STOPPED" ? "Stopped: " : ""}${counts}\n${reasons}`;
}

export async function showBulk(context: CommandContext): Promise<ExitCode> {
  const { json, stop } = readOptions(BULK_OPTIONS, context);
  const { output, args } = context;
  const [id] = args;
  if (id === undefined && stop) {
    throw usage('Which job? "holdfast-gateway bulk <job> --stop" stops one; "holdfast-gateway bulk" lists them.');
  }
  const client = clientOf(context);
  if (id !== undefined && stop) await client.post(`/v1/bulk/${encodeURIComponent(id)}/stop`);
  const jobs =
    id === undefined
      ? (await client.get<{ jobs: readonly ShownBulk[] }>("/v1/bulk")).jobs
      : [await client.get<ShownBulk>(`/v1/bulk/${encodeURIComponent(id)}`)];
  if (json) printJson(output, id === undefined ? { jobs } : jobs[0]);
  else if (jobs.length === 0) output.note("There are no bulk jobs.\n");
  else output.print(bulksText(jobs, output.isTerminal ? output.columns : 0));
  return EXIT.done;
}

function bulksText(jobs: readonly ShownBulk[], columns: number): string {
  const rows = jobs.map(({ id, action, status, total, done, skipped, failed, createdMs }) => [
    id,
    action,
    status.toLowerCase(),
    String(total ?? ""),
    String(done),
    String(skipped),
    String(failed),
    timeText(createdMs),
  ]);
  return tableText(["JOB", "ACTION", "STATUS", "RUNS", "DONE", "SKIPPED", "FAILED", "CREATED"], rows, columns);
}
