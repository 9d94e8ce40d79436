/** `hold`: keeps runs whatever their age, or releases them. */
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { oneByOne } from "./one-by-one.ts";
import { HOLD_OPTIONS } from "./retention-options.ts";

export async function holdRuns(context: CommandContext): Promise<ExitCode> {
  const { json, reason, release } = readOptions(HOLD_OPTIONS, context);
  const client = clientOf(context);
  await oneByOne(context, {
    json,
    work: async (id) => {
      const path = `/v1/runs/${encodeURIComponent(id)}/hold`;
      const changed = release
        ? (await client.delete<{ released: boolean }>(path)).released
        : (await client.put<object>(path, { reason })) !== null;
      return { id, onHold: !release, changed };
    },
    line: ({ id, changed }) => `${id}  ${textOf(release, changed)}`,
    whole: (runs) => ({ runs }),
  });
  return EXIT.done;
}

const textOf = (release: boolean, changed: boolean): string =>
  release ? (changed ? "released" : "was not on hold") : "on hold";
