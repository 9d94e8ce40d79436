/** Definitions of graphs: written as drafts, published as versions, with what triggers them. */
import { HoldfastError } from "@holdfast/core";
import type { Graph, GraphProblem, NodeTypeInfo } from "@holdfast/graph/definition";
import type { GraphName, GraphPublication, GraphTriggers, Store, StoredGraph } from "@holdfast/store";
import { cronsOf, type Dispatcher, dispatchedBy, type GraphDispatch, type KnownFunction } from "../dispatch/index.ts";
import { checkGraph, readSnapshot, triggersOf } from "./check-graph.ts";
import { draftProblems, keepsOut } from "./draft-shape.ts";
import { GraphConflictError, GraphInvalidError, hasVersions, noGraph } from "./graph-errors.ts";
import { findRunner, type RunnerAsked, runnerName } from "./runner.ts";

export interface GraphDefinitionsParts {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly newId: () => string;
}

export interface DraftAsked extends RunnerAsked {
  readonly graph: unknown;
  readonly expectedRevision?: number;
  readonly nodeTypes?: readonly NodeTypeInfo[];
}

export interface PublishAsked {
  readonly expectedRevision?: number;
  /** An earlier version is published again. */
  readonly version?: number;
  readonly nodeTypes?: readonly NodeTypeInfo[];
  /** How runs of the new version go; default: in place. */
  readonly dispatch?: GraphDispatch;
}

export class GraphDefinitions {
  readonly #parts: GraphDefinitionsParts;

  constructor(parts: GraphDefinitionsParts) {
    this.#parts = parts;
  }

  /**
   * Stores a draft. It may have problems, which are listed: people save what is not finished.
   * @throws HoldfastError `GRAPH_INVALID` when a part of it is no part of a graph, `GRAPH_CONFLICT`
   */
  async put(
    name: GraphName,
    { graph, expectedRevision, nodeTypes, ...asked }: DraftAsked,
  ): Promise<{ readonly graph: StoredGraph; readonly problems: readonly GraphProblem[] }> {
    const { store, newId } = this.#parts;
    const checked = await this.check(name, graph, nodeTypes);
    const unusable = [...draftProblems(graph, name.id), ...checked.problems.filter(keepsOut)];
    if (unusable.length > 0) throw new GraphInvalidError(unusable);
    const draftJson = JSON.stringify(graph);
    const { title } = graph as Graph;
    const put = {
      ...name,
      uid: newId(),
      title,
      draftJson,
      expectedRevision: expectedRevision ?? null,
      writeId: newId(),
    };
    const outcome = await store.putGraph({ ...put, runner: runnerName(asked) });
    if (outcome.outcome === "stored") return { graph: outcome.graph, problems: checked.problems };
    throw new GraphConflictError(name, expectedRevision ?? 0, outcome.graph?.revision ?? 0);
  }

  /** Everything that is wrong with it, and what its runs are given if nothing is. */
  async check(
    name: GraphName,
    graph: unknown,
    nodeTypes?: readonly NodeTypeInfo[],
  ): Promise<Awaited<ReturnType<typeof checkGraph>>> {
    return checkGraph(this.#parts.store, name, graph as Graph, nodeTypes ? { nodeTypes } : {});
  }

  /**
   * Makes a version of the draft and publishes it, or publishes an earlier one again. Its triggers take the place of
   * those of the version before, for all gateways at once. Gives the graph as this call has published it: others may
   * publish theirs at the same time.
   * @throws HoldfastError `GRAPH_INVALID`, `GRAPH_CONFLICT`, `GRAPH_RUNNER_UNKNOWN`, `NOT_FOUND`
   */
  async publish(
    name: GraphName,
    { expectedRevision, version, nodeTypes, dispatch = "run" }: PublishAsked,
  ): Promise<StoredGraph> {
    const { store } = this.#parts;
    const graph = await this.get(name);
    if (expectedRevision !== undefined && expectedRevision !== graph.revision) {
      throw new GraphConflictError(name, expectedRevision, graph.revision);
    }
    const made =
      version === undefined ? await this.#newVersion(graph, nodeTypes, dispatch) : await this.#version(graph, version);
    const { triggers } = made;
    const runner = await this.#runnerOf(graph, triggers);
    const { nowMs, newId } = { nowMs: await store.nowMs(), newId: this.#parts.newId };
    const crons = cronsOf(graph.uid, triggers.crons, nowMs, newId);
    const publication: GraphPublication = {
      ...name,
      uid: graph.uid,
      of: made.of,
      triggers,
      crons,
      runner: runner?.id ?? null,
    };
    const outcome = await store.publishGraph(publication);
    switch (outcome.outcome) {
      case "published": {
        const { version: published, publishedMs } = outcome;
        return { ...graph, version: published, publishedMs, lastVersion: Math.max(graph.lastVersion, published) };
      }
      case "conflict":
        throw new GraphConflictError(name, graph.revision, outcome.revision);
      case "gone":
        throw noGraph(name);
    }
  }

  async #newVersion(
    { draftJson, revision, ...name }: StoredGraph,
    nodeTypes: readonly NodeTypeInfo[] | undefined,
    dispatch: GraphDispatch,
  ): Promise<{ readonly of: GraphPublication["of"]; readonly triggers: GraphTriggers }> {
    const { problems, snapshotJson, triggers } = await this.check(name, JSON.parse(draftJson), nodeTypes);
    if (snapshotJson === null) throw new GraphInvalidError(problems);
    const of = { revision, snapshotJson: dispatchedBy(snapshotJson, dispatch), writeId: this.#parts.newId() };
    return { of, triggers };
  }

  async #version(
    { uid, id, lastVersion }: StoredGraph,
    version: number,
  ): Promise<{ readonly of: GraphPublication["of"]; readonly triggers: GraphTriggers }> {
    const found = await this.#parts.store.getGraphVersion(uid, version);
    if (!found) throw noVersion(id, version, lastVersion);
    return { of: { version }, triggers: triggersOf(readSnapshot(found.snapshotJson).graph) };
  }

  /** Only triggers need to have it: callers name one. */
  async #runnerOf(
    { environment, runner }: StoredGraph,
    { events, crons }: GraphTriggers,
  ): Promise<KnownFunction | null> {
    if (events.length + crons.length === 0) return null;
    return findRunner(this.#parts.dispatcher, environment, {}, runner);
  }

  /** @throws HoldfastError `NOT_FOUND` */
  async get(name: GraphName): Promise<StoredGraph> {
    const graph = await this.#parts.store.getGraph(name);
    if (!graph) throw noGraph(name);
    return graph;
  }

  /** Nothing of it is published any more. */
  async unpublish(name: GraphName): Promise<StoredGraph> {
    await this.#parts.store.unpublishGraph(name);
    // Another caller may have published one since.
    return { ...(await this.get(name)), version: null, publishedMs: null };
  }

  /**
   * Its runs go on.
   * @throws HoldfastError `GRAPH_IN_USE`, `NOT_FOUND`
   */
  async delete(name: GraphName, force: boolean): Promise<void> {
    const outcome = await this.#parts.store.deleteGraph(name, force);
    if (outcome === "gone") throw noGraph(name);
    if (outcome === "deleted") return;
    throw new HoldfastError(
      "GRAPH_IN_USE",
      `The graph "${name.id}" has runs that have not ended. They would go on: delete it with \`force=1\`, or wait for them.`,
    );
  }

  /**
   * The snapshot of a version.
   * @throws HoldfastError `GRAPH_NOT_PUBLISHED`, `NOT_FOUND`
   */
  async snapshot(
    { uid, id, version: published, lastVersion }: StoredGraph,
    asked?: number,
  ): Promise<{ readonly version: number; readonly snapshotJson: string }> {
    const version = asked ?? published;
    if (version === null) {
      throw new HoldfastError(
        "GRAPH_NOT_PUBLISHED",
        `No version of the graph "${id}" is published. Publish one, or name a version.`,
      );
    }
    const found = await this.#parts.store.getGraphVersion(uid, version);
    if (!found) throw noVersion(id, version, lastVersion);
    return found;
  }
}

const noVersion = (id: string, version: number, last: number): HoldfastError =>
  new HoldfastError("NOT_FOUND", `The graph "${id}" ${hasVersions(last)}; there is no version ${version}.`);
