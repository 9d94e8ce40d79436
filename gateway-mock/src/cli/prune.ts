/** `prune`: has the gateway remove old runs, a piece at a time, or say what would go. */
import { sleep, systemTimers } from "@holdfast/core";
import type { PrunePreview, PruneProgress } from "@holdfast/store";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { sizeText } from "./cut-text.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { printJson } from "./output.ts";
import { withProgress } from "./progress.ts";
import { PRUNE_OPTIONS } from "./retention-options.ts";
import { tableText } from "./table.ts";

type Piece = PruneProgress & { readonly sinceMs: number };

const AGAIN_MS = 2_000;
/** Something is in the way for so long: gateways go on with it later. */
const MAX_BLOCKED = 15;

export async function prune(context: CommandContext): Promise<ExitCode> {
  const { json, dryRun, completed, failed } = readOptions(PRUNE_OPTIONS, context);
  const { output } = context;
  const client = clientOf(context);
  const periods = { ...(completed === undefined ? {} : { completed }), ...(failed === undefined ? {} : { failed }) };
  if (dryRun) {
    const preview = await withProgress(
      output,
      () => "Counting old runs …",
      () => client.post<PrunePreview>("/v1/prune", { ...periods, dryRun }),
    );
    if (json) printJson(output, preview);
    else output.print(previewText(preview));
    return EXIT.done;
  }
  const removed = { runs: 0, events: 0 };
  let blocked = 0;
  const state = await withProgress(
    output,
    () => `Removing old runs: ${removed.runs} so far …`,
    async () => {
      for (let sinceMs: number | undefined; ; ) {
        const piece: Piece = await client.post("/v1/prune", {
          ...periods,
          ...(sinceMs === undefined ? {} : { sinceMs }),
        });
        sinceMs = piece.sinceMs;
        removed.runs += piece.removedRuns;
        removed.events += piece.removedEvents;
        if (piece.state === "done") return piece.state;
        if (piece.state === "more") continue;
        blocked += 1;
        if (blocked > MAX_BLOCKED) return piece.state;
        await sleep(systemTimers, AGAIN_MS);
      }
    },
  );
  if (json) printJson(output, { state, removedRuns: removed.runs, removedEvents: removed.events });
  else output.print(`Removed ${removed.runs} runs and ${removed.events} events.\n`);
  if (state !== "done") output.note(`${LATER[state]}\n`);
  return state === "done" ? EXIT.done : EXIT.otherwise;
}

const LATER = {
  busy: "Another gateway removes old runs, perhaps with other periods; try again when it is done.",
  blocked: "A long transaction or a backup keeps the tables; gateways go on by themselves when it is over.",
} as const;

function previewText({ runs, events, bytes, oldestRunMs }: PrunePreview): string {
  return tableText(
    ["WOULD GO", ""],
    [
      ["runs", String(runs)],
      ["events", String(events)],
      ["space", `about ${sizeText(bytes)}`],
      ["oldest kept", oldestRunMs === null ? "-" : new Date(oldestRunMs).toISOString()],
    ],
  );
}
