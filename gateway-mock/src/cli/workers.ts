/** `workers`: who is connected, and which of them get work. */
import { CLIENT_OPTIONS } from "./client-options.ts";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { printJson } from "./output.ts";
import { tableText } from "./table.ts";

interface ShownWorker {
  readonly connectionId: string;
  readonly gatewayId: string;
  readonly instanceId: string;
  readonly apps: readonly string[];
  readonly status: string;
  readonly queues: readonly string[];
  readonly inFlight: number | null;
  readonly connectedAt: string;
}

export async function listWorkers(context: CommandContext): Promise<ExitCode> {
  const { json } = readOptions(CLIENT_OPTIONS, context);
  const { output } = context;
  const answer = await clientOf(context).get<{ readonly workers: readonly ShownWorker[] }>("/v1/workers");
  if (json) printJson(output, answer);
  else if (answer.workers.length === 0) output.note("No worker is connected.\n");
  else output.print(workersText(answer.workers, output.isTerminal ? output.columns : 0));
  return EXIT.done;
}

function workersText(workers: readonly ShownWorker[], columns: number): string {
  const rows = workers.map((one) => [
    one.instanceId,
    one.status.toLowerCase(),
    // What it has is known to the gateway that it is connected to.
    one.inFlight === null ? "-" : String(one.inFlight),
    one.queues.join(" "),
    one.connectedAt,
    one.apps.join(" "),
  ]);
  return tableText(["WORKER", "STATUS", "HAS", "QUEUES", "CONNECTED", "APPS"], rows, columns);
}

export const drainWorkers = (context: CommandContext): Promise<ExitCode> => change(context, "drain");
export const resumeWorkers = (context: CommandContext): Promise<ExitCode> => change(context, "resume");

async function change(context: CommandContext, verb: "drain" | "resume"): Promise<ExitCode> {
  const { json } = readOptions(CLIENT_OPTIONS, context);
  const { output, args } = context;
  const client = clientOf(context);
  const results: { readonly instanceId: string; readonly drained: boolean; readonly changed: boolean }[] = [];
  for (const id of args) results.push(await client.post(`/v1/workers/${encodeURIComponent(id)}/${verb}`));
  if (json) printJson(output, { workers: results });
  else {
    for (const { instanceId, drained, changed } of results) {
      const now = drained ? "gets no new work" : "gets work";
      output.print(`${instanceId}  ${changed ? "now " : ""}${now}\n`);
    }
  }
  return EXIT.done;
}
