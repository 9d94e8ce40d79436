/** `workers`: who is connected, and which of them get work. */
import { CLIENT_OPTIONS } from "./client-options.ts";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { oneByOne } from "./one-by-one.ts";
import { printJson } from "./output.ts";
import { durationText } from "./run-text.ts";
import { tableText } from "./table.ts";
import { noteUnknown } from "./unknown-names.ts";

export interface ShownWorker {
  readonly connectionId: string;
  readonly gatewayId: string;
  readonly instanceId: string;
  readonly apps: readonly string[];
  readonly status: string;
  readonly queues: readonly string[];
  readonly inFlight: number | null;
  readonly connectedAt: string;
  /** For how long nothing was heard of it, or of its gateway; a gateway of an earlier version does not say. */
  readonly silentMs?: number;
  /** Null: another gateway has it. */
  readonly condition: ShownCondition | null;
}

interface ShownCondition {
  readonly heartbeatMs: number;
  /** For how long nothing was heard of it. */
  readonly silentMs: number;
  readonly state: ShownState | null;
}

/** What it says of itself; null: nothing. */
interface ShownState {
  readonly mainLagMs: number;
  readonly isolation: { readonly threads: number; readonly busy: number; readonly queued: number } | null;
}

export async function listWorkers(context: CommandContext): Promise<ExitCode> {
  const { json } = readOptions(CLIENT_OPTIONS, context);
  const { output } = context;
  const client = clientOf(context);
  const answer = await client.get<{ readonly workers: readonly ShownWorker[] }>("/v1/workers");
  if (json) printJson(output, answer);
  else if (answer.workers.length === 0) {
    output.note("No worker is connected.\n");
    await noteUnknown(context, client);
  } else output.print(workersText(answer.workers, output.isTerminal ? output.columns : 0));
  return EXIT.done;
}

export function workersText(workers: readonly ShownWorker[], columns: number): string {
  const rows = workers.map((one) => [
    one.instanceId,
    one.status.toLowerCase().replace("_", " "),
    // What it has is known to the gateway that it is connected to.
    one.inFlight === null ? "-" : String(one.inFlight),
    mainText(one.condition),
    poolText(one.condition?.state?.isolation ?? null),
    one.silentMs === undefined ? "-" : `${durationText(one.silentMs)} ago`,
    one.queues.join(" "),
    one.connectedAt,
    one.apps.join(" "),
  ]);
  return tableText(["WORKER", "STATUS", "HAS", "MAIN", "POOL", "HEARD", "QUEUES", "CONNECTED", "APPS"], rows, columns);
}

/** So many heartbeats may be late before what the worker said last is old. */
const LATE_HEARTBEATS = 1.5;

/** Whether its main thread is responsive; of a worker that is silent that is not known. */
function mainText(condition: ShownCondition | null): string {
  if (condition === null) return "-";
  const { heartbeatMs, silentMs, state } = condition;
  if (silentMs > LATE_HEARTBEATS * heartbeatMs) return `silent ${durationText(silentMs)}`;
  if (state === null) return "-";
  return state.mainLagMs === 0 ? "ok" : `blocked ${durationText(state.mainLagMs)}`;
}

/** How many threads for isolated code have a turn, and how many turns wait for one. */
function poolText(isolation: ShownState["isolation"]): string {
  if (isolation === null || isolation.threads + isolation.queued === 0) return "-";
  const { threads, busy, queued } = isolation;
  return `${busy}/${threads}${queued === 0 ? "" : ` +${queued}`}`;
}

export const drainWorkers = (context: CommandContext): Promise<ExitCode> => change(context, "drain");
export const resumeWorkers = (context: CommandContext): Promise<ExitCode> => change(context, "resume");

interface ChangedWorker {
  readonly instanceId: string;
  readonly drained: boolean;
  readonly changed: boolean;
}

async function change(context: CommandContext, verb: "drain" | "resume"): Promise<ExitCode> {
  const { json } = readOptions(CLIENT_OPTIONS, context);
  const client = clientOf(context);
  await oneByOne(context, {
    json,
    work: (id) => client.post<ChangedWorker>(`/v1/workers/${encodeURIComponent(id)}/${verb}`),
    line: ({ instanceId, drained, changed }) =>
      `${instanceId}  ${changed ? "now " : ""}${drained ? "gets no new work" : "gets work"}`,
    whole: (workers) => ({ workers }),
  });
  return EXIT.done;
}
