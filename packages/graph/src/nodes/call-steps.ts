/** How each node type that is a step runs: its config with templates filled in, as a call of one of the step tools. */
import { HoldfastError, unreachable } from "@holdfast/core";
import type { LoggerLike, StepIdWithOptions, StepTools } from "holdfast";
import type { Compensation } from "../definition/graph.ts";
import { outcomeOf } from "../interpret/outcome.ts";
import type { NodeCall } from "../interpret/run-types.ts";
import { own } from "../json/json-size.ts";
import { fillTemplates, type Lookup } from "../templates/fill-template.ts";
import { type CodeJob, type CodeResult, StepArgument } from "./code-job.ts";
import { chosenBranch } from "./condition.ts";
import { durationOf, type FilledStep, filledStep, textOf } from "./filled-fields.ts";
import { outputOf } from "./http.ts";
import { checkedWay, type NodeType } from "./node-type.ts";

/** Runs code: a function that is marked for the pool of threads, or one that runs here. */
export type RunCode = (job: CodeJob) => Promise<CodeResult>;
/** What runs code that may take so many milliseconds. */
export type RunCodeFor = (timeoutMs: number) => RunCode;

export interface Sandbox {
  /** As the body of a step. */
  readonly ofStep: RunCodeFor;
  /** Where there is no step: when a node is undone. */
  readonly alone: RunCode;
}

export interface NodeDeps {
  readonly step: StepTools;
  readonly runId: string;
  readonly logger: LoggerLike;
  readonly types: ReadonlyMap<string, NodeType>;
  readonly signalOfStep: () => AbortSignal;
  readonly sandbox: Sandbox;
}

/** Runs a node as a step, and gives what `outcomeOf` takes. */
export function callStep(call: NodeCall, deps: NodeDeps): Promise<unknown> {
  try {
    const filled = filledStep(call, deps.runId);
    return filled.type === "custom" ? customStep(call, deps, filled.config) : builtInStep(call, deps, filled);
  } catch (error) {
    return Promise.reject(error);
  }
}

async function builtInStep(
  call: NodeCall,
  deps: NodeDeps,
  filled: Exclude<FilledStep, { type: "custom" }>,
): Promise<unknown> {
  const { node } = call;
  const { step } = deps;
  const id = { id: call.key, ...(node.title === undefined ? {} : { name: node.title }) };
  switch (filled.type) {
    case "condition":
      return step.run(id, () => ({ branch: chosenBranch(node, call.ctx()) }));
    case "delay":
      return step.sleep(id, filled.durationMs);
    case "until":
      return step.sleepUntil(id, filled.date);
    case "waitForEvent":
      return step.waitForEvent(id, filled.options);
    case "approval": {
      const sent = await step.waitForSignal(id, filled.options);
      return sent === null ? null : (sent.data ?? {});
    }
    case "function": {
      const { slug, data, timeoutMs } = filled;
      const timeout = timeoutMs === undefined ? {} : { timeout: timeoutMs };
      return undoable(call, deps, await step.invoke(id, { function: { slug }, data, ...timeout, ...undoStep(call) }));
    }
    case "http": {
      const { url, init } = filled.request;
      return undoable(call, deps, await outputOf(await step.fetch(call.key, url, { ...init, ...undoStep(call) })));
    }
    case "javascript":
      return codeStep(call, deps, filled.timeoutMs);
    default:
      return unreachable(filled);
  }
}

/** Graphs have many of these, and most end at once: nothing here waits that need not. */
function customStep(call: NodeCall, deps: NodeDeps, config: unknown): Promise<unknown> {
  const { node, key } = call;
  const checked = (given: unknown): unknown => checkedWay(node, deps.types.get(node.type), given);
  return deps.step.run(runOptions(call, deps), () => {
    const given = execute(node.type, config, { call, deps, ctx: call.ctx, key });
    return isPromise(given) ? given.then(checked) : checked(given);
  });
}

interface Execution {
  readonly call: NodeCall;
  readonly deps: NodeDeps;
  readonly ctx: () => Readonly<Record<string, unknown>>;
  readonly key: string;
}

/** Gives a promise only where the node's type does. */
function execute(type: string, config: unknown, { call, deps, ctx, key }: Execution): unknown {
  const found = deps.types.get(type);
  if (found === undefined) {
    const message = `This app has no node type "${type}", which node "${call.node.id}" names.`;
    throw new HoldfastError("GRAPH_INVALID", message);
  }
  const { logger, runId } = deps;
  let seen: Readonly<Record<string, unknown>> | undefined;
  // What most types never look at is made when one does.
  const context = {
    get ctx() {
      seen ??= ctx();
      return seen;
    },
    get signal() {
      return deps.signalOfStep();
    },
    logger,
    nodeId: key,
    runId,
  };
  const given = found.execute(config, context);
  return isPromise(given) ? given.then((value) => value ?? null) : (given ?? null);
}

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";

/** Only bodies of steps have retries of their own, and are undone when the run fails. */
function runOptions(call: NodeCall, deps: NodeDeps): StepIdWithOptions {
  const { node, key } = call;
  return {
    id: key,
    ...(node.title === undefined ? {} : { name: node.title }),
    ...(node.retries === undefined ? {} : { retries: node.retries }),
    ...undoOf(call, deps),
  };
}

function undoOf(call: NodeCall, deps: NodeDeps): Pick<StepIdWithOptions, "compensate"> {
  const { compensate } = call.node;
  if (compensate === undefined) return {};
  const seen = (recorded: unknown, error: Error) => ({
    output: givenBy(call.node, recorded),
    error: { message: error.message },
  });
  return { compensate: (recorded, error) => undo(call, deps, compensate, seen(recorded, error)) };
}

/** What the node gave, as nodes behind it see it: beside it is on record which way it took, or what its code wrote. */
function givenBy(node: NodeCall["node"], recorded: unknown): unknown {
  const given = node.type === "javascript" ? (own(recorded, "output") ?? null) : recorded;
  const outcome = outcomeOf(node, given);
  return outcome.ok ? outcome.output : given;
}

async function undo(
  call: NodeCall,
  deps: NodeDeps,
  { type, config = {} }: Compensation,
  seen: { readonly output: unknown; readonly error: unknown },
): Promise<unknown> {
  const lookup: Lookup = (name) => (name === "output" || name === "error" ? seen[name] : call.lookup(name));
  const ctx = { ...call.ctx(), ...seen };
  const filled = type === "javascript" ? config : fillTemplates(config, lookup);
  if (type !== "javascript") return execute(type, filled, { call, deps, ctx: () => ctx, key: call.key });
  const timeout = fillTemplates(config.timeout ?? "30s", lookup);
  const job = codeJob(call, { ...config }, ctx, timeout);
  return logged(deps, await deps.sandbox.alone(job));
}

/** Names the step that carries what undoes the node, where it cannot do so itself. */
const undoStep = ({ key, node }: NodeCall): object =>
  node.compensate === undefined ? {} : { [Symbol.for("holdfast.undoStep")]: `${key}~undo` };

/** A further step, after one that cannot carry what undoes it. It runs even when the run fails before it has begun. */
async function undoable<T>(call: NodeCall, deps: NodeDeps, output: T): Promise<T> {
  if (call.node.compensate === undefined) return output;
  const { compensate } = call.node;
  const seen = (error: Error) => ({ output, error: { message: error.message } });
  await deps.step.run(
    {
      id: `${call.key}~undo`,
      compensate: (_, error) => undo(call, deps, compensate, seen(error)),
      ...undoStep(call),
    },
    () => null,
  );
  return output;
}

async function codeStep(call: NodeCall, deps: NodeDeps, timeout: unknown): Promise<unknown> {
  const job = new StepArgument(codeJob(call, call.node.config ?? {}, call.ctx(), timeout));
  try {
    return logged(
      deps,
      (await deps.step.run(runOptions(call, deps), deps.sandbox.ofStep(job.timeoutMs), job)) as CodeResult,
    );
  } catch (cause) {
    if (own(cause, "code") !== "ISOLATE_BUDGET") throw cause;
    const message = `The code of node "${call.node.id}" was ended with its thread, since it took longer than ${job.timeoutMs} ms.`;
    throw new HoldfastError("GRAPH_CODE_BUDGET", message, { cause });
  }
}

function codeJob(
  call: NodeCall,
  config: Readonly<Record<string, unknown>>,
  ctx: Readonly<Record<string, unknown>>,
  timeout: unknown,
): CodeJob {
  const { code, memoryMb = 64 } = config;
  return {
    code: textOf(call, "code", code),
    ctx,
    timeoutMs: durationOf(call, "javascript", "timeout", timeout),
    memoryMb: Number(memoryMb),
  };
}

function logged({ logger }: NodeDeps, { output, lines }: CodeResult): unknown {
  for (const { level, text } of lines) logger[level](text);
  return output;
}
