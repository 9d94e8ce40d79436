/** `rollout`: which version of an app new runs begin with. */
import { ROLLOUT_OPTIONS } from "./client-options.ts";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { printJson } from "./output.ts";

interface Rollout {
  readonly appId: string;
  readonly rollout: { readonly version: string; readonly percent: number } | null;
}

export async function rollOut(context: CommandContext): Promise<ExitCode> {
  const { json, percent } = readOptions(ROLLOUT_OPTIONS, context);
  const { output, args } = context;
  const [appId = "", version] = args;
  const client = clientOf(context);
  const path = `/v1/apps/${encodeURIComponent(appId)}/rollout`;
  const answer = await (version === undefined
    ? client.delete<Rollout>(path)
    : client.put<Rollout>(path, { version, percent }));
  if (json) printJson(output, answer);
  else output.print(`${answer.appId}  ${textOf(answer)}\n`);
  return EXIT.done;
}

const textOf = ({ rollout }: Rollout): string =>
  rollout
    ? `${rollout.percent} % of new runs begin with version ${rollout.version}`
    : "all new runs begin with the newest version";
