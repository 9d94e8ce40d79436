/** `torture`: asks a gateway for round after round, reads the effects of each run in between, and prints the report. */
import { exec } from "node:child_process";
import { promisify } from "node:util";
import { messageOf } from "@holdfast/core";
import { usage } from "../config/settings.ts";
import type { TortureReport } from "../faults/torture/judge.ts";
import { type CommandContext, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { type GatewayClient, gatewayClient } from "./gateway-client.ts";
import { jsonArgument } from "./json-argument.ts";
import { printJson } from "./output.ts";
import { withProgress } from "./progress.ts";
import { tableText, visible } from "./table.ts";
import { againCommand } from "./torture-again.ts";
import { TORTURE_OPTIONS } from "./torture-options.ts";

interface Begun {
  readonly id: string;
  readonly functionId: string;
  readonly seed: number;
}

interface ShownRound {
  readonly number: number;
  readonly rounds: number | null;
  readonly text: string;
  readonly runId: string;
  readonly eventId: string;
  readonly status: string;
}

interface Next {
  readonly round: ShownRound | null;
  readonly report: TortureReport | null;
}

/** What a call may take beyond the run itself. */
const CALL_MS = 30_000;
const EFFECTS_MS = 60_000;
const MAX_EFFECTS_BYTES = 1024 * 1024;

export async function torture(context: CommandContext): Promise<ExitCode> {
  const options = readOptions(TORTURE_OPTIONS, context);
  const { function: functionId, seed, round, rounds: chaosRounds, timeoutMs: roundMs, json } = options;
  if (functionId === undefined) throw usage("--function is missing: the function to torture, such as shop-order.");
  const data = jsonArgument("--data", options.data);
  const { output } = context;
  const client = gatewayClient({ ...options, timeoutMs: roundMs + CALL_MS });
  const asked = { function: functionId, data, seed, round, chaosRounds, roundMs };
  const begun = await client.post<Begun>("/v1/torture", asked);
  if (!json) output.print(`Torturing ${begun.functionId}, seed ${begun.seed}\n`);
  let said = "the first round";
  const onRound = ({ number, rounds, text, status }: ShownRound): void => {
    said = `round ${number}${rounds === null ? "" : ` of ${rounds}`}`;
    if (!json) output.print(`${String(number).padStart(4)}  ${status.toLowerCase().padEnd(10)}${visible(text)}\n`);
  };
  const report = await withProgress(
    output,
    () => `after ${said}`,
    () => play(client, begun, options.effects, onRound),
  );
  if (json) printJson(output, report);
  else {
    const again = (round: number): string => againCommand({ ...begun, round }, context.flags, data);
    output.print(reportText(report, again, output.isTerminal ? output.columns : 0));
  }
  return report.problems.length === 0 ? EXIT.done : EXIT.otherwise;
}

async function play(
  client: GatewayClient,
  { id }: Begun,
  command: string | undefined,
  onRound: (round: ShownRound) => void,
): Promise<TortureReport> {
  let read: { readonly effects?: unknown } = {};
  for (;;) {
    const { round, report } = await client.post<Next>(`/v1/torture/${id}/next`, read);
    if (report) return report;
    if (!round) throw usage("The gateway answered neither a round nor a report: its version is another one.");
    onRound(round);
    read = command === undefined ? {} : { effects: await readEffects(command, round) };
  }
}

const run = promisify(exec);

/** In a shell, as it was written. */
async function readEffects(command: string, { runId, eventId }: ShownRound): Promise<string> {
  const env = { ...process.env, HOLDFAST_RUN_ID: runId, HOLDFAST_EVENT_ID: eventId };
  try {
    const { stdout } = await run(command, { env, timeout: EFFECTS_MS, maxBuffer: MAX_EFFECTS_BYTES });
    return stdout.trim();
  } catch (error) {
    throw usage(`--effects failed: ${messageOf(error)}`);
  }
}

const UNSEEN =
  "What code outside of steps reads from the clock, at random or from elsewhere is found only where step ids, the result or effects follow from it.";

function reportText(report: TortureReport, again: (round: number) => string, columns: number): string {
  const { seed, rounds, steps, problems, notes } = report;
  const rows = steps.map(({ step, bodies, roundsRepeated, resultsDiffer }) => [
    step,
    String(bodies),
    String(roundsRepeated),
    resultsDiffer ? "yes" : "",
  ]);
  const table = tableText(["STEP", "BODIES AT MOST", "ROUNDS WITH MORE THAN ONE", "RESULTS DIFFERED"], rows, columns);
  const found = problems.map(({ kind, round, step, runId, text }) => {
    const where = step === null ? "" : `  ${visible(step)}`;
    return `\n${kind}  round ${round}${where}  run ${runId}\n  ${visible(text)}\n  again: ${again(round)}\n`;
  });
  const verdict =
    problems.length === 0
      ? `Nothing was found in ${rounds} rounds. ${UNSEEN}\n`
      : `${problems.length} found in ${rounds} rounds, seed ${seed}:\n`;
  const asides = notes.map((note) => `Note: ${visible(note)}\n`).join("");
  return `\n${steps.length === 0 ? "" : `${table}\n`}${asides}${verdict}${found.join("")}`;
}
