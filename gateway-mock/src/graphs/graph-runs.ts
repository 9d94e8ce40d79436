/** Runs of graphs that callers ask for, tests of graphs that are not stored, and what becomes of those. */
import { HoldfastError } from "@holdfast/core";
import type { Graph } from "@holdfast/graph/definition";
import { type GraphName, type GraphRunMark, plainName, type Store } from "@holdfast/store";
import {
  type Dispatcher,
  dispatchedBy,
  type GraphDispatch,
  type GraphRequest,
  type IdSeed,
} from "../dispatch/index.ts";
import type { DraftAsked, GraphDefinitions } from "./definitions.ts";
import { draftProblems } from "./draft-shape.ts";
import { GraphInvalidError } from "./graph-errors.ts";
import { findRunner, type RunnerAsked } from "./runner.ts";

export interface GraphRunsParts {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly definitions: GraphDefinitions;
}

/** What a run is asked to be; checked where runs are made. */
export interface StartAsked {
  readonly input?: unknown;
  readonly id?: unknown;
  readonly atMs?: number;
  readonly deadlineMs?: number;
  readonly deadlineInMs?: number;
  readonly appVersion?: unknown;
  readonly priority?: unknown;
  readonly seed?: IdSeed;
  /** How it goes; default: as it was published, of a test in place. */
  readonly dispatch?: GraphDispatch;
}

export interface GraphRunAsked extends StartAsked, RunnerAsked {
  readonly version?: number;
}

export interface StartedGraphRun {
  readonly runId: string;
  readonly eventId: string;
  /** False: an earlier request with this id has started it. */
  readonly isNew: boolean;
  readonly functionId: string;
}

export class GraphRuns {
  readonly #parts: GraphRunsParts;

  constructor(parts: GraphRunsParts) {
    this.#parts = parts;
  }

  /**
   * Starts a run of a version, of the published one by default. It is stored when this resolves.
   * @throws HoldfastError `NOT_FOUND`, `GRAPH_NOT_PUBLISHED`, `GRAPH_RUNNER_UNKNOWN`, `OPTION_INVALID`, `EVENT_INVALID`
   */
  async execute(
    name: GraphName,
    { version: asked, app, runner: runnerId, ...start }: GraphRunAsked,
  ): Promise<StartedGraphRun & { readonly version: number }> {
    const { dispatcher, definitions } = this.#parts;
    const graph = await definitions.get(name);
    const { version, snapshotJson } = await definitions.snapshot(graph, asked);
    const runnerAsked = {
      ...(app === undefined ? {} : { app }),
      ...(runnerId === undefined ? {} : { runner: runnerId }),
    };
    const runner = await findRunner(dispatcher, name.environment, runnerAsked, graph.runner);
    const request = { snapshotJson, graphId: name.id, tenant: name.tenant, version, test: false, triggerJson: null };
    const started = await this.#start(
      name.environment,
      runner.id,
      request,
      { uid: graph.uid, version, test: false },
      start,
    );
    return { ...started, version };
  }

  /**
   * Runs a graph that is not stored, as one that is. Nothing triggers it.
   * @throws HoldfastError `GRAPH_INVALID`, and those of `execute`
   */
  async test(
    environment: string,
    tenant: string,
    { graph, nodeTypes, app, runner: runnerId, ...start }: Omit<DraftAsked, "expectedRevision"> & StartAsked,
  ): Promise<StartedGraphRun> {
    const { dispatcher, definitions } = this.#parts;
    const { id } = (graph ?? {}) as Partial<Graph>;
    const name = { environment, tenant, id: typeof id === "string" ? id : "" };
    const unusable = draftProblems(graph, name.id);
    if (unusable.length > 0) throw new GraphInvalidError(unusable);
    const { problems, snapshotJson } = await definitions.check(name, graph, nodeTypes);
    if (snapshotJson === null) throw new GraphInvalidError(problems);
    const runnerAsked = {
      ...(app === undefined ? {} : { app }),
      ...(runnerId === undefined ? {} : { runner: runnerId }),
    };
    const runner = await findRunner(dispatcher, environment, runnerAsked);
    const request = { snapshotJson, graphId: name.id, tenant, version: null, test: true, triggerJson: null };
    return this.#start(environment, runner.id, request, { uid: "", version: null, test: true }, start);
  }

  async #start(
    environment: string,
    runnerId: string,
    published: Omit<GraphRequest, "inputJson">,
    mark: GraphRunMark,
    { input, dispatch, ...start }: StartAsked,
  ): Promise<StartedGraphRun> {
    const snapshotJson = dispatch ? dispatchedBy(published.snapshotJson, dispatch) : published.snapshotJson;
    const request = { ...published, snapshotJson };
    const keyScope = mark.uid === "" ? `test\n${request.tenant}\n${request.graphId}` : mark.uid;
    const graph = { request, mark, keyScope, input: input === undefined ? {} : input };
    const outcome = await this.#parts.dispatcher.invoke({
      ...start,
      environment,
      function: plainName(runnerId),
      graph,
    });
    if (outcome.outcome === "started") {
      const { runId, eventId, isNew, functionId } = outcome;
      return { runId, eventId, isNew, functionId };
    }
    // Runs of graphs are wanted for certain: nothing holds them back.
    throw new HoldfastError("INTERNAL", `The run of "${request.graphId}" was not started: ${outcome.reason}.`);
  }

  /**
   * Ends a test, and removes all that is left of it.
   * @throws HoldfastError `NOT_FOUND`, `GRAPH_TEST_UNKNOWN`
   */
  async stopTest(runId: string): Promise<void> {
    const { store, dispatcher } = this.#parts;
    const mark = (await store.graphRuns([runId])).get(runId);
    if (!mark?.test) {
      const message = `The run ${runId} is no test of a graph. \`DELETE /v1/runs/${runId}\` deletes runs that have ended.`;
      throw new HoldfastError("GRAPH_TEST_UNKNOWN", message);
    }
    await dispatcher.repairs.deletions.delete(runId, { cancels: true });
  }
}
