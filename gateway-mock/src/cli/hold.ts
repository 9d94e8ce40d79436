/** `hold`: keeps runs whatever their age, or releases them. */
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { printJson } from "./output.ts";
import { HOLD_OPTIONS } from "./retention-options.ts";

export async function holdRuns(context: CommandContext): Promise<ExitCode> {
  const { json, reason, release } = readOptions(HOLD_OPTIONS, context);
  const { output, args } = context;
  const client = clientOf(context);
  const results: { readonly id: string; readonly onHold: boolean; readonly changed: boolean }[] = [];
  for (const id of args) {
    const path = `/v1/runs/${encodeURIComponent(id)}/hold`;
    const changed = release
      ? (await client.delete<{ released: boolean }>(path)).released
      : (await client.put<object>(path, { reason })) !== null;
    results.push({ id, onHold: !release, changed });
  }
  if (json) printJson(output, { runs: results });
  else for (const { id, changed } of results) output.print(`${id}  ${textOf(release, changed)}\n`);
  return EXIT.done;
}

const textOf = (release: boolean, changed: boolean): string =>
  release ? (changed ? "released" : "was not on hold") : "on hold";
