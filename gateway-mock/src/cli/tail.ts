/** `tail`: what happens to runs, as it happens. */
import { deferred } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import type { ResolvedTable } from "../config/option-kinds.ts";
import { TAIL_OPTIONS } from "./client-options.ts";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { rowLines, type ShownRow } from "./fact-line.ts";
import { type LiveMessage, liveMessages } from "./live-messages.ts";
import { whenTaken } from "./output.ts";
import { visible } from "./table.ts";
import { noteUnknown } from "./unknown-names.ts";

/** @throws HoldfastError what the gateway says against it */
export async function tailRuns(context: CommandContext): Promise<ExitCode> {
  const options = readOptions(TAIL_OPTIONS, context);
  const stop = new AbortController();
  const { interrupted, unlisten } = interruption();
  try {
    // Not once the stream has ended: a gateway that does not answer would keep the command as long as its calls take.
    return await Promise.race([follow(context, options, stop.signal), interrupted]);
  } finally {
    unlisten();
    stop.abort();
  }
}

function interruption(): { readonly interrupted: Promise<ExitCode>; readonly unlisten: () => void } {
  const { promise, resolve } = deferred<ExitCode>();
  const onSigint = (): void => resolve(EXIT.interrupted);
  const onSigterm = (): void => resolve(EXIT.terminated);
  process.on("SIGINT", onSigint);
  process.on("SIGTERM", onSigterm);
  const unlisten = (): void => {
    process.off("SIGINT", onSigint);
    process.off("SIGTERM", onSigterm);
  };
  return { interrupted: promise, unlisten };
}

type TailOptions = ResolvedTable<typeof TAIL_OPTIONS>;

/** Ends with the run that it follows; that of all runs has no end. */
async function follow(context: CommandContext, options: TailOptions, signal: AbortSignal): Promise<ExitCode> {
  const { output, args } = context;
  const [runId] = args;
  const shown = { all: options.all, colours: output.colours };
  const client = clientOf(context);
  if (runId === undefined) await noteUnknown(context, client);
  const messages = liveMessages(client, pathOf(runId, options), {
    signal,
    onGone: (why) => output.note(`The gateway is gone (${why}); waiting for it …\n`),
    onBack: () => output.note("The gateway is back.\n"),
  });
  for await (const { event, data } of messages) {
    if (event === "end") return data.status === "COMPLETED" ? EXIT.done : EXIT.otherwise;
    if (event === "continued" && !options.json) output.note(`It goes on as ${visible(String(data.continuedAs))}.\n`);
    if (event === "reset") output.note("What happened meanwhile is lost to this view: it begins anew.\n");
    const row = event === "facts" ? rowOf({ event, data }) : null;
    if (row) output.print(options.json ? jsonLines(row) : rowLines(row, shown));
    await whenTaken();
  }
  return EXIT.interrupted;
}

function pathOf(
  runId: string | undefined,
  { function: functionId, status, links }: Pick<TailOptions, "function" | "status" | "links">,
): string {
  const which = links ? "" : "&links=one";
  if (runId !== undefined) return `/v1/runs/${encodeURIComponent(runId)}/stream?from=start${which}`;
  const query = new URLSearchParams({ limit: "0" });
  if (functionId !== undefined) query.set("function", functionId);
  if (status !== undefined) query.set("status", status);
  return `/v1/runs/stream?${query}`;
}

/** As a gateway of this version sends it; it is printed, and nothing else depends on it. */
function rowOf({ data }: LiveMessage): (ShownRow & { readonly facts: readonly object[] }) | null {
  const { runId, functionId, seq, at, atMs, status, facts } = data;
  if (typeof runId !== "string" || typeof functionId !== "string" || typeof at !== "string") return null;
  if (typeof seq !== "number" || typeof atMs !== "number" || !Array.isArray(facts)) return null;
  const shown = facts
    .filter(isRecord)
    .map((fact) => ({ ...fact, kind: String(fact.kind), attempt: Number(fact.attempt) }));
  return { runId, functionId, seq, at, atMs, status: typeof status === "string" ? status : null, facts: shown };
}

function jsonLines({ facts, ...row }: ShownRow): string {
  return facts.map((fact) => `${JSON.stringify({ ...row, ...fact })}\n`).join("");
}
