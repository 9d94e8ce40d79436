/**
 * The state of each node of a run, worked out from what is on record of it: the pure run is made once more, with the
 * recorded results in place of calls.
 */
import { HoldfastError } from "@holdfast/core";
import { checkGraphInput } from "../definition/check-input.ts";
import type { Graph, GraphNode } from "../definition/graph.ts";
import { layoutOf } from "../definition/layout.ts";
import type { GraphSnapshot } from "../definition/snapshot.ts";
import { GraphRun } from "../interpret/graph-run.ts";
import { type NodeError, nodeErrorOf } from "../interpret/outcome.ts";
import type { NodeCall, NodeRecord, RunAction } from "../interpret/run-types.ts";
import { isObject, measureJson, own } from "../json/json-size.ts";
import { filledStep } from "../nodes/filled-fields.ts";
import { FillBudget, fillTemplates, MAX_FILLED_CHARS } from "../templates/fill-template.ts";
import { givenOf } from "./recorded.ts";

/**
 * `waiting`: nodes before it have not ended. `ready`: it is to run, or to be tried again. `running`. `done`. `failed`:
 * its error was taken, or has ended the run. `skipped`: no way to it was taken. `dead`: the run has ended without it.
 */
export type NodeStatusKind = "waiting" | "ready" | "running" | "done" | "failed" | "skipped" | "dead";

export interface NodeStatus {
  /** Id of the node. */
  readonly id: string;
  /** Unique in the run: `sub/charge[2]`; the id of its step. */
  readonly key: string;
  /** The digest of `key` under which its step is on record; null: it is no step, or has not begun. */
  readonly stepId: string | null;
  readonly type: string;
  readonly title?: string;
  readonly status: NodeStatusKind;
  /** Ids of the subgraph nodes that it is in. */
  readonly path: readonly string[];
  /** Index of the iteration of each loop around it, the outermost first. */
  readonly iteration: readonly number[];
  /** How often it was tried so far. */
  readonly attempts: number;
  /** Milliseconds since 1970. */
  readonly startedMs: number | null;
  readonly endedMs: number | null;
  /** When a wait, or the pause before the next attempt, is over. */
  readonly dueMs: number | null;
  /** Its config with templates filled in, without code. */
  readonly input?: unknown;
  readonly output?: unknown;
  /** The last one. */
  readonly error?: NodeError;
  /** The way on that was taken. */
  readonly handle?: string;
}

export interface GraphStatus {
  readonly runId: string;
  readonly graphId: string;
  readonly version: number | null;
  readonly test: boolean;
  readonly status: string;
  readonly createdMs: number;
  readonly endedMs: number | null;
  /** What the run came to. */
  readonly output: unknown;
  readonly error: unknown;
  /** In the order in which they began, then those that did not, as they stand in the graph. */
  readonly nodes: readonly NodeStatus[];
  /** More nodes have begun than are listed, as in long loops, or what they were given and gave is more than is shown. */
  readonly isCut: boolean;
}

/** What is on record of one step. */
export interface StepFact {
  /** The digest of its id. */
  readonly id: string;
  readonly status: "planned" | "waiting" | "retrying" | "completed" | "failed";
  readonly attempts: number;
  readonly startedMs: number | null;
  readonly endedMs: number | null;
  readonly dueMs: number | null;
  readonly output?: unknown;
  readonly error?: unknown;
}

export interface RunRecord {
  readonly runId: string;
  /** The data of its event. */
  readonly snapshot: GraphSnapshot;
  readonly status: string;
  readonly createdMs: number;
  readonly endedMs: number | null;
  readonly output: unknown;
  readonly error: unknown;
  /** Those that have ended in the order in which they did, then the others. */
  readonly steps: readonly StepFact[];
  /** The digest by which steps are named on record: SHA-1 of the id, in hexadecimal. */
  readonly digest: (key: string) => string;
}

/** Of subgraphs whose input is held against its schema: the gateway does nothing else meanwhile. */
const MAX_INPUT_CHECKS = 1_000;
const ENDED: ReadonlySet<string> = new Set(["COMPLETED", "FAILED", "CANCELLED"]);
/** Nodes that are listed at most. */
const MAX_LISTED = 10_000;
/** Characters of inputs and outputs that are shown of all nodes: each may have the same large value. */
const MAX_SHOWN_CHARS = 16 * 1024 * 1024;
/** Answers to `http` nodes may be lists within lists without end, which could not be written as JSON again. */
const MAX_SHOWN_DEPTH = 1_000;

/** The state of a run's nodes. What the record does not have, as inputs that no longer can be filled in, is left out. */
export function statusOfGraph(record: RunRecord): GraphStatus {
  const { runId, snapshot, status, createdMs, endedMs, output, error } = record;
  const { graph, graphId, version = null, test = false } = snapshot;
  const replay = new Replay(record);
  replay.play();
  const records = [...replay.run.records.values()];
  const begun = records.slice(0, MAX_LISTED).map((each) => replay.shown(each));
  const own = records.filter(({ path }) => path.length === 0);
  const known = new Set(own.map(({ node }) => node.id));
  const isOver = ENDED.has(status);
  const isPassed = passedBodies(graph, own);
  const others = graph.nodes.flatMap(({ id, type, title }): NodeStatus[] => {
    if (known.has(id)) return [];
    const times = { startedMs: null, endedMs: null, dueMs: null };
    const named = { id, key: id, stepId: null, type, ...(title === undefined ? {} : { title }) };
    const kind = isPassed(id) ? "skipped" : isOver ? "dead" : "waiting";
    return [{ ...named, ...times, status: kind, path: [], iteration: [], attempts: 0 }];
  });
  return {
    ...{ runId, graphId, version, test: test === true, status, createdMs, endedMs, output, error },
    nodes: [...begun, ...others],
    isCut: records.length > MAX_LISTED || replay.isCut,
  };
}

/** The node that a step is of, and the graph that the node is in; undefined: the step is of none. */
export function nodeOfStep(
  record: RunRecord,
  stepId: string,
): { readonly graph: Graph; readonly node: GraphNode } | undefined {
  const replay = new Replay(record);
  replay.play();
  const node = replay.nodeOf(stepId);
  if (node === undefined) return undefined;
  const { graph, graphs = {} } = record.snapshot;
  const found = [graph, ...Object.values(graphs)].find(({ nodes }) => nodes.includes(node));
  return { graph: found ?? graph, node };
}

/** Whether a node is in the body of a loop that is over, or was skipped, without an iteration that came to the node. */
function passedBodies(graph: GraphSnapshot["graph"], records: readonly NodeRecord[]): (id: string) => boolean {
  const start = graph.nodes.find(({ type }) => type === "start");
  if (start === undefined) return () => false;
  const { scopes } = layoutOf(
    { nodes: graph.nodes, edges: graph.edges.map((edge, index) => ({ ...edge, index })) },
    start,
  );
  const open = new Map<string, boolean>();
  for (const { node, state } of records) {
    const isOpen = state === "running" || state === "waiting";
    if (node.type === "loop") open.set(node.id, isOpen || (open.get(node.id) ?? false));
  }
  const isPassed = (id: string): boolean => {
    const loop = scopes.get(id)?.loop;
    if (loop === undefined) return false;
    const isOpen = open.get(loop);
    return isOpen === undefined ? isPassed(loop) : !isOpen;
  };
  return isPassed;
}

class Replay {
  readonly run: GraphRun;
  readonly #record: RunRecord;
  readonly #facts: ReadonlyMap<string, StepFact>;
  readonly #calls = new Map<string, NodeCall>();
  /** Keys by their digests, of calls that have begun. */
  readonly #keys = new Map<string, string>();
  readonly #isOver: boolean;
  #left = MAX_SHOWN_CHARS;
  isCut = false;

  constructor(record: RunRecord) {
    const { runId, snapshot, steps, status } = record;
    const { graph, graphs = {}, graphId, version = null, input = null, test = false } = snapshot;
    this.#record = record;
    this.#isOver = ENDED.has(status);
    this.#facts = new Map(steps.map((step) => [step.id, step]));
    const run = { id: runId, graphId, version, test: test === true };
    let checks = 0;
    const checkInput: typeof checkGraphInput = (inner, given) => {
      checks += 1;
      if (checks <= MAX_INPUT_CHECKS) checkGraphInput(inner, given);
    };
    this.run = new GraphRun({ graph, graphs, input, run, checkInput });
  }

  play(): void {
    this.#note(this.run.begin());
    for (const { id, status, output, error } of this.#record.steps) {
      const key = this.#keys.get(id);
      const call = key === undefined ? undefined : this.#calls.get(key);
      if (key === undefined || call === undefined) continue;
      if (status === "completed") this.#note(this.run.complete(key, givenOf(call.node, output)));
      if (status === "failed") this.#note(this.run.fail(key, nodeErrorOf(call.node.id, error), error));
    }
  }

  nodeOf(stepId: string): GraphNode | undefined {
    return this.#calls.get(this.#keys.get(stepId) ?? "")?.node;
  }

  /** A node whose config is invalid once it is filled in has failed without a step. */
  #note(actions: readonly RunAction[]): void {
    const left = [...actions];
    for (let action = left.shift(); action !== undefined; action = left.shift()) {
      if (action.type !== "CALL") continue;
      const { call } = action;
      const { key, node } = call;
      const stepId = this.#record.digest(key);
      this.#calls.set(key, call);
      this.#keys.set(stepId, key);
      if (this.#facts.has(stepId)) continue;
      try {
        filledStep(call, this.#record.runId);
      } catch (error) {
        left.push(...this.run.fail(key, nodeErrorOf(node.id, error), error));
      }
    }
  }

  shown({ key, node, path, iteration, state, output, error, handle }: NodeRecord): NodeStatus {
    const stepId = this.#record.digest(key);
    const fact = this.#facts.get(stepId);
    const call = this.#calls.get(key);
    const input = call === undefined ? undefined : this.#inputOf(call);
    const given = this.#shown(output);
    const last = error ?? (isObject(fact?.error) ? nodeErrorOf(node.id, fact.error) : undefined);
    return {
      id: node.id,
      key,
      stepId: fact === undefined ? null : stepId,
      type: node.type,
      ...(node.title === undefined ? {} : { title: node.title }),
      status: this.#kindOf(state, fact),
      path,
      iteration,
      attempts: fact?.attempts ?? 0,
      startedMs: fact?.startedMs ?? null,
      endedMs: fact?.endedMs ?? null,
      dueMs: fact?.dueMs ?? null,
      ...(input === undefined ? {} : { input }),
      ...(given === undefined ? {} : { output: given }),
      ...(last === undefined ? {} : { error: last }),
      ...(handle === undefined ? {} : { handle }),
    };
  }

  #kindOf(state: NodeRecord["state"], fact: StepFact | undefined): NodeStatusKind {
    if (state !== "running") return state;
    if (this.#isOver) return "dead";
    if (fact?.status === "planned" || fact?.status === "retrying") return "ready";
    return fact === undefined && this.#record.status === "PENDING" ? "ready" : "running";
  }

  /** As it is in the graph where templates cannot be filled in. */
  #inputOf({ node, lookup }: NodeCall): unknown {
    const { code: _, branches: __, ...config } = node.config ?? {};
    if (Object.keys(config).length === 0) return undefined;
    try {
      return this.#shown(fillTemplates(config, lookup, new FillBudget(Math.min(MAX_FILLED_CHARS, this.#left))));
    } catch (error) {
      if (!isTooLarge(error)) return this.#shown(own(node, "config"));
      this.isCut = true;
      return undefined;
    }
  }

  /** Undefined when there is no room for it, or it is too deep. */
  #shown(value: unknown): unknown {
    if (value === undefined) return undefined;
    const size = measureJson(value, { maxChars: this.#left, maxDepth: MAX_SHOWN_DEPTH });
    if (size.ok) this.#left -= size.chars;
    if (size.ok || size.reason === "type") return value;
    this.isCut = true;
    return undefined;
  }
}

const isTooLarge = (error: unknown): boolean => HoldfastError.is(error) && error.code === "GRAPH_VALUE_TOO_LARGE";
