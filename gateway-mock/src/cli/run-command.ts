/** Runs a command that is not a gateway itself; each is loaded when it is asked for. */
import { unreachable } from "@holdfast/core";
import type { Mode } from "../config/modes.ts";
import { type CommandName, type GraphCommand, isFaultCommand, isGraphCommand } from "./command-spec.ts";
import type { CommandContext } from "./context.ts";
import type { ExitCode } from "./exit-codes.ts";

export async function runCommand(name: Exclude<CommandName, Mode>, context: CommandContext): Promise<ExitCode> {
  if (isFaultCommand(name)) return (await import("./faults.ts")).runFaultCommand(name, context);
  if (isGraphCommand(name)) return runGraphCommand(name, context);
  switch (name) {
    case "migrate":
      return (await import("./migrate.ts")).migrateDatabase(context);
    case "doctor":
      return (await import("./doctor/doctor.ts")).doctor(context);
    case "explain":
      return (await import("./explain.ts")).explain(context);
    case "send":
      return (await import("./send.ts")).sendEvent(context);
    case "signal":
      return (await import("./signal.ts")).sendSignal(context);
    case "runs":
      return (await import("./runs.ts")).listRuns(context);
    case "run":
      return (await import("./runs.ts")).showRun(context);
    case "tail":
      return (await import("./tail.ts")).tailRuns(context);
    case "cancel":
      return (await import("./repair.ts")).cancelRuns(context);
    case "rerun":
      return (await import("./repair.ts")).rerunRuns(context);
    case "compensate":
      return (await import("./repair.ts")).compensateRuns(context);
    case "delete":
      return (await import("./repair.ts")).deleteRuns(context);
    case "bulk":
      return (await import("./bulk.ts")).showBulk(context);
    case "pause":
      return (await import("./pauses.ts")).pauseFunctions(context);
    case "resume":
      return (await import("./pauses.ts")).resume(context);
    case "rollout":
      return (await import("./rollout.ts")).rollOut(context);
    case "functions":
      return (await import("./functions.ts")).listFunctions(context);
    case "workers":
      return (await import("./workers.ts")).listWorkers(context);
    case "workers drain":
      return (await import("./workers.ts")).drainWorkers(context);
    case "workers resume":
      return (await import("./workers.ts")).resumeWorkers(context);
    case "torture":
      return (await import("./torture.ts")).torture(context);
    case "prune":
      return (await import("./prune.ts")).prune(context);
    case "hold":
      return (await import("./hold.ts")).holdRuns(context);
    case "export":
      return (await import("./exported-runs.ts")).exportRuns(context);
    case "replay":
      return (await import("./replay.ts")).replayRuns(context);
    case "check":
      return (await import("./replay.ts")).checkRuns(context);
    case "keys create":
      return (await import("./keys.ts")).createKeys(context);
    case "keys hash":
      return (await import("./keys.ts")).hashKey(context);
    case "keys list":
      return (await import("./keys.ts")).listKeys(context);
    default:
      return unreachable(name);
  }
}

async function runGraphCommand(name: GraphCommand, context: CommandContext): Promise<ExitCode> {
  const graphs = await import("./graphs.ts");
  switch (name) {
    case "graphs":
      return graphs.listGraphs(context);
    case "graphs get":
      return graphs.getGraph(context);
    case "graphs put":
      return graphs.putGraph(context);
    case "graphs publish":
      return graphs.publishGraph(context);
    case "graphs unpublish":
      return graphs.unpublishGraph(context);
    case "graphs run":
      return graphs.runGraph(context);
    case "graphs delete":
      return graphs.deleteGraph(context);
    default:
      return unreachable(name);
  }
}
