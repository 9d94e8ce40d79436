/** Options of the package `inngest` that clients, functions and `connect()` do not have, and what to do instead. */
import { HoldfastError, nearestName } from "@holdfast/core";
import { checkKnown } from "../options.ts";

const CHECKPOINTING =
  "delete it, a function always goes on in place after a step, and its results are stored meanwhile, where the gateway can do that, as Holdfast's does";

/** By name; each text follows "has no option `name`: ". */
const INSTEAD: Readonly<Record<string, string>> = {
  middleware:
    "delete it. To add to what handlers are given, wrap them: createFunction(options, (context) => handler({ ...context, db })). For traces use `holdfast/opentelemetry`, for metrics the channels of node:diagnostics_channel, such as `holdfast:step:end`",
  checkpointing: CHECKPOINTING,
  experimentalCheckpointing: CHECKPOINTING,
  optimizeParallelism:
    "delete it, parallel steps always run at the same time, and the promise of each settles when that step ends, so Promise.race() needs no group.parallel()",
  internalLogger: "delete it, `logger` gets these lines too, those from `logLevel` on",
  aiMetadata: "delete it, nothing is derived from calls to models; trace them with `holdfast/opentelemetry`",
  isolateExecution:
    "delete it, the connection always has a thread of its own. To run code of yours in a thread, mark it with isolated() of `holdfast/isolate`",
  rewriteGatewayEndpoint:
    "give `gatewayUrl` (HOLDFAST_CONNECT_GATEWAY_URL) the WebSocket address to use instead of the one from the gateway",
};

/**
 * What a message says of the first such option among those given; undefined when there is none. Apart from the check for
 * unknown options, which is also in `holdfast/client`, where these texts would take too much room.
 */
export function inngestOptionProblem(options: object): string | undefined {
  const name = Object.keys(options).find((key) => Object.hasOwn(INSTEAD, key));
  return name === undefined ? undefined : `has no option \`${name}\`: ${INSTEAD[name]}.`;
}

/**
 * Checks the options of a client or of `connect()`.
 * @throws HoldfastError `OPTION_INVALID` when one is not `known`
 */
export function checkOptions(what: string, options: object, known: readonly string[]): void {
  const problem = inngestOptionProblem(options);
  if (problem !== undefined) throw new HoldfastError("OPTION_INVALID", `${what} ${problem}`);
  checkKnown(what, options, known, nearestName);
}
