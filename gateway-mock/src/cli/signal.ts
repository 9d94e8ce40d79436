/** `signal`: sends a signal to the step that waits for it, and says whose step that was. */
import { usage } from "../config/settings.ts";
import { SIGNAL_OPTIONS } from "./client-options.ts";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { jsonArgument } from "./json-argument.ts";
import { printJson } from "./output.ts";
import { withProgress } from "./progress.ts";
import { visible } from "./table.ts";

export async function sendSignal(context: CommandContext): Promise<ExitCode> {
  const { json, data } = readOptions(SIGNAL_OPTIONS, context);
  const { output, args } = context;
  const [signal = ""] = args;
  if (signal === "") throw usage("Name the signal, as `step.waitForSignal` has it.");
  const client = clientOf(context);
  const body = { signal, data: jsonArgument("--data", data) };
  const { data: taken } = await withProgress(
    output,
    () => `Sending to ${client.url} …`,
    () => client.post<{ readonly data: { readonly run_id: string } }>("/v1/signals", body),
  );
  if (json) printJson(output, { runId: taken.run_id });
  else output.print(`run    ${visible(taken.run_id)}\n`);
  return EXIT.done;
}
