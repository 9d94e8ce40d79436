/** Finds the function that runs graphs: each app that has one is named by its id. */
import { HoldfastError } from "@holdfast/core";
import { plainName } from "@holdfast/store";
import { type Dispatcher, findFunction, type KnownFunction } from "../dispatch/index.ts";

/** The id of the function that the SDK makes for graphs, unless its author gave another one. */
const DEFAULT_RUNNER = "graphs";

/** What callers name: an app, and the function's id in it. */
export interface RunnerAsked {
  readonly app?: string;
  readonly runner?: string;
}

/** Its full name; null where the only one that there is is meant. */
export const runnerName = ({ app, runner = DEFAULT_RUNNER }: RunnerAsked): string | null =>
  app === undefined ? null : `${app}-${runner}`;

/**
 * The runner that is named, or was when the graph was stored, or else the only one.
 * @throws HoldfastError `GRAPH_RUNNER_UNKNOWN` when there is none, or several and none is named
 */
export async function findRunner(
  { functions }: Pick<Dispatcher, "functions">,
  environment: string,
  asked: RunnerAsked,
  stored: string | null = null,
): Promise<KnownFunction> {
  const name = runnerName(asked) ?? (asked.runner === undefined ? stored : null) ?? asked.runner ?? DEFAULT_RUNNER;
  const fn = await findFunction(functions, environment, name).catch((cause: unknown) => {
    if (!HoldfastError.is(cause) || (cause.code !== "NOT_FOUND" && cause.code !== "OPTION_INVALID")) throw cause;
    throw unknownRunner(`${cause.message} Name the app with \`app\`.`, cause);
  });
  if (fn.active) return fn;
  throw unknownRunner(`The function "${plainName(fn.id)}" is not part of the newest deployment of its app.`);
}

const unknownRunner = (why: string, cause?: unknown): HoldfastError =>
  new HoldfastError(
    "GRAPH_RUNNER_UNKNOWN",
    `No function runs the graph: ${why} An app has one once it has connected with \`graphs(app, ...)\`.`,
    { cause },
  );
