/** `graphs()`: gives an app the function that runs graphs, and the client with which they are stored, run and watched. */
import { HoldfastError } from "@holdfast/core";
import { type Holdfast, stepSignal } from "holdfast";
import { own } from "../json/json-size.ts";
import type { NodeType } from "../nodes/node-type.ts";
import { PreparedSnapshots } from "../run/prepared-snapshots.ts";
import { runSnapshot } from "../run/run-snapshot.ts";
import { type SandboxPlace, sandboxOf } from "../sandbox/sandbox-of.ts";
import type { Graphs } from "./client-types.ts";
import { GraphClient } from "./graph-client.ts";

export interface GraphsOptions {
  /** Id of the function that runs graphs. Default "graphs". */
  readonly id?: string;
  /** Types of the app, made by `nodeType`. */
  readonly nodeTypes?: readonly NodeType[];
  /** How often a failed step of a node is tried again, where the node does not say. Default 2, so 3 attempts in all. */
  readonly retries?: number;
  /** How many runs may be at work at once. Default: no limit. */
  readonly concurrency?: number;
  /** Whose graphs the client stores and runs. Default "". */
  readonly tenant?: string;
  /**
   * "run" (default): the nodes of a run are steps in one place. "node": each is a job of its own, so that the nodes of one
   * run spread over workers.
   */
  readonly dispatch?: "run" | "node";
  /**
   * Where code of `javascript` nodes runs: "pool" = in a thread, so that it blocks nothing; "main" = on the main thread,
   * within its budget; "auto" (default) = in a thread where this package's files can be found, as in any installation but
   * bundles of one file.
   */
  readonly sandbox?: SandboxPlace | "auto";
}

/**
 * Problems of the graph and of its inputs are not tried again: nothing would change. The author of the graph has written
 * no `retryIf`, so the log says why in other words (`whyNotRetried` of the SDK).
 */
const isRetriable = Object.assign(
  // Of code that ran in another thread only what an error says is left, its class is not.
  (error: unknown): boolean => !PERMANENT.has(String(own(error, "code"))),
  {
    [Symbol.for("holdfast.whyNotRetried")]: ({ code = "it" }: { readonly code?: string }): string =>
      code === "GRAPH_NODE_FAILED"
        ? "the run fails with its node, since no edge leads on from an `error` handle"
        : `another attempt would meet the same (${code})`,
  },
);

const PERMANENT: ReadonlySet<string> = new Set([
  ...["GRAPH_INVALID", "GRAPH_INPUT_INVALID", "GRAPH_NODE_FAILED", "GRAPH_CONFIG_INVALID", "GRAPH_PATH_UNKNOWN"],
  ...["GRAPH_VALUE_TOO_LARGE", "GRAPH_CODE_BUDGET", "ISOLATE_BUDGET", "EXPRESSION_INVALID", "EXPRESSION_FAILED"],
  ...["GRAPH_CONDITION_INVALID", "GRAPH_HANDLE_UNKNOWN"],
]);

/**
 * Makes the function that runs graphs, and the client for them:
 *
 *     const flows = graphs(app, { nodeTypes: [dataQuery] });
 *     await app.connect({ functions: [flows.runner] });
 *     const run = await flows.execute("onboarding", { userId: 7 });
 *
 * @throws HoldfastError `GRAPH_NODE_TYPE_INVALID`, `FUNCTION_INVALID`
 */
export function graphs(app: Holdfast, options: GraphsOptions = {}): Graphs {
  const { id = "graphs", nodeTypes = [], retries, concurrency, tenant = "", sandbox = "auto", dispatch } = options;
  const types = new Map<string, NodeType>();
  for (const type of nodeTypes) {
    if (types.has(type.type)) {
      throw new HoldfastError(
        "GRAPH_NODE_TYPE_INVALID",
        `There are two node types "${type.type}"; each name stands for one.`,
      );
    }
    types.set(type.type, type);
  }
  const code = sandboxOf(sandbox);
  const [prepared, checked] = [new PreparedSnapshots(), new Set<string>()];
  const runner = app.createFunction(
    {
      id,
      triggers: [],
      description: "Runs graphs.",
      retryIf: isRetriable,
      ...(retries === undefined ? {} : { retries }),
      ...(concurrency === undefined ? {} : { concurrency }),
    },
    ({ event, step, runId, logger }) =>
      runSnapshot(event.data, {
        step,
        runId,
        logger,
        types,
        signalOfStep: stepSignal,
        sandbox: code,
        prepared,
        checked,
      }),
  );
  const infos = nodeTypes.map(({ type, handles = [] }) => ({ type, handles }));
  return new GraphClient(
    { app, types, infos, runner, place: { app: app.id, runner: id }, ...(dispatch === undefined ? {} : { dispatch }) },
    tenant,
  );
}
