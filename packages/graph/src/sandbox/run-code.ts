/**
 * Runs code of users in QuickJS, which is WebAssembly: code in it reaches nothing but what is put into it, which is
 * `ctx`, as JSON, and `console`. Each call has an instance of its own, with limits of time and memory.
 */
import { HoldfastError, messageOf } from "@holdfast/core";
import type { QuickJSContext, QuickJSRuntime, QuickJSWASMModule } from "quickjs-emscripten-core";
import { own } from "../json/json-size.ts";
import { type CodeJob, type CodeResult, ctxText } from "../nodes/code-job.ts";
import { MemoryLimit } from "./memory-limit.ts";
import { PRELUDE } from "./prelude.ts";

/** Characters of JSON that the result may have. */
export const MAX_RESULT_CHARS = 4 * 1024 * 1024;
const MAX_LINES = 1_000;
const MAX_LINE_CHARS = 10_000;
/** Of all lines: they are stored with the result, which may have 4 MiB with them. */
const MAX_LOG_CHARS = 256 * 1024;
/** Of the code's own stack; deeper recursion is an error in the code. */
const MAX_STACK_BYTES = 256 * 1024;
const JOBS_A_TURN = 100;
const MIB = 1024 * 1024;
/** What an instance has from the start, for itself and for code that needs little. */
const OWN_MB = 16;
/** A list that grows is there twice for a moment, so there is room for half as much again. */
const ROOM = 1.5;

let loading: Promise<QuickJSWASMModule> | undefined;
/** Instances that no further call may have. */
const spent = new WeakSet<QuickJSWASMModule>();
const limits = new WeakMap<QuickJSWASMModule, MemoryLimit>();

/** Loaded when it is first used, and again once it is spent. */
async function load(): Promise<QuickJSWASMModule> {
  const { newQuickJSWASMModuleFromVariant } = await import("quickjs-emscripten-core");
  return newQuickJSWASMModuleFromVariant(import("@jitl/quickjs-wasmfile-release-sync"));
}

async function loaded(): Promise<QuickJSWASMModule> {
  loading ??= load();
  try {
    return await loading;
  } catch (cause) {
    loading = undefined;
    const fix =
      "In a bundle, leave @jitl/quickjs-wasmfile-release-sync out of it, or copy its emscripten-module.wasm beside it; " +
      "of esbuild's CommonJS leave it out (`--external`), since `import.meta.url`, by which the file is found, is not there.";
    const message = `The sandbox cannot be loaded: ${messageOf(cause)} ${fix}`;
    throw new HoldfastError("GRAPH_CODE_FAILED", message, { cause });
  }
}

async function unspent(): Promise<QuickJSWASMModule> {
  for (;;) {
    const module = await loaded();
    if (!spent.has(module)) return module;
    loading = undefined;
  }
}

/**
 * What the code returns, as JSON.
 * @throws HoldfastError `GRAPH_CODE_FAILED`, `GRAPH_CODE_BUDGET`
 */
export async function runCode(job: CodeJob): Promise<CodeResult> {
  const module = await unspent();
  try {
    return runIn(module, job);
  } catch (error) {
    // What was not released cannot be, and after a trap the instance is in an unknown state.
    spent.add(module);
    if (HoldfastError.is(error)) throw error;
    throw budget(job, `it broke the sandbox (${messageOf(error)})`);
  }
}

function runIn(module: QuickJSWASMModule, job: CodeJob): CodeResult {
  const limit = limits.get(module) ?? new MemoryLimit(module.getWasmMemory());
  limits.set(module, limit);
  limit.begin((OWN_MB + job.memoryMb * ROOM) * MIB);
  const runtime = module.newRuntime();
  runtime.setMemoryLimit(job.memoryMb * MIB);
  runtime.setMaxStackSize(MAX_STACK_BYTES);
  const deadline = new Deadline(job.timeoutMs);
  runtime.setInterruptHandler(() => deadline.isOver);
  const vm = runtime.newContext();
  const lines: CodeResult["lines"][number][] = [];
  const text = evaluate(vm, runtime, { job, deadline, limit, lines });
  vm.dispose();
  runtime.dispose();
  // The next call may have less.
  if (limit.hasGrown) spent.add(module);
  return { output: JSON.parse(text) as unknown, lines };
}

class Deadline {
  readonly #atMs: number;

  constructor(timeoutMs: number) {
    this.#atMs = performance.now() + timeoutMs;
  }

  get isOver(): boolean {
    return performance.now() >= this.#atMs;
  }
}

interface Evaluation {
  readonly job: CodeJob;
  readonly deadline: Deadline;
  readonly limit: MemoryLimit;
  readonly lines: CodeResult["lines"][number][];
}

/** @returns the JSON of the result */
function evaluate(vm: QuickJSContext, runtime: QuickJSRuntime, evaluation: Evaluation): string {
  const { job, deadline, limit, lines } = evaluation;
  let left = MAX_LOG_CHARS;
  const write = vm.newFunction("write", (level, text) => {
    if (lines.length >= MAX_LINES || left === 0) return;
    const line = copiedUpTo(Math.min(MAX_LINE_CHARS, left), vm.getString(text));
    left -= line.length;
    lines.push({ level: levelOf(vm.getString(level)), text: line });
  });
  const ctx = vm.newString(ctxText(job.ctx));
  const code = vm.newString(job.code);
  const prelude = vm.evalCode(PRELUDE, "prelude.js");
  if (prelude.error) throw failure(vm, prelude.error, evaluation);
  const timeout = vm.newNumber(job.timeoutMs);
  const state = vm.callFunction(prelude.value, vm.undefined, code, ctx, write, timeout);
  for (const handle of [write, ctx, code, timeout, prelude.value]) handle.dispose();
  if (state.error) throw failure(vm, state.error, evaluation);
  for (;;) {
    const done = runtime.executePendingJobs(JOBS_A_TURN);
    if (done.error) throw failure(vm, done.error as never, evaluation);
    const count = done.value;
    done.dispose();
    if (deadline.isOver) throw budget(job, `it took longer than ${job.timeoutMs} ms`);
    if (count === 0) break;
  }
  const [kind, text] = ["kind", "text"].map((name) => vm.getProp(state.value, name).consume((each) => vm.dump(each)));
  state.value.dispose();
  return readState(job, limit, { kind: String(kind), message: String(text) });
}

/** A slice would keep the whole text in memory, and code may write a thousand of them. */
function copiedUpTo(maxChars: number, text: string): string {
  return text.length <= maxChars ? text : Buffer.from(text.slice(0, maxChars), "utf16le").toString("utf16le");
}

interface EndState {
  readonly kind: string;
  readonly message: string;
}

function readState(job: CodeJob, limit: MemoryLimit, { kind, message }: EndState): string {
  switch (kind) {
    case "done":
      if (message.length <= MAX_RESULT_CHARS) return message;
      throw failed(`its result has ${message.length} characters of JSON; the limit is ${MAX_RESULT_CHARS}`);
    case "failed":
      if (isOutOfMemory(message) || (limit.isReached && message === NO_ERROR))
        throw budget(job, `it needs more than ${job.memoryMb} MB of memory`);
      throw failed(message);
    default:
      throw budget(job, "it waits for something that never comes; there are no timers and no network");
  }
}

function failure(
  vm: QuickJSContext,
  error: never | Parameters<QuickJSContext["dump"]>[0],
  { job, deadline }: Evaluation,
): HoldfastError {
  const said: unknown = vm.dump(error);
  if (deadline.isOver) return budget(job, `it took longer than ${job.timeoutMs} ms`);
  const [name, text] = [own(said, "name"), own(said, "message")];
  const message = typeof text !== "string" ? textOf(said) : typeof name === "string" ? `${name}: ${text}` : text;
  return isOutOfMemory(message) ? budget(job, `it needs more than ${job.memoryMb} MB of memory`) : failed(message);
}

const textOf = (said: unknown): string => (typeof said === "object" ? JSON.stringify(said) : String(said));

/** What the prelude says where nothing is left of which the engine could make an error. */
const NO_ERROR = "it threw null, or ran out of memory";

const isOutOfMemory = (message: string): boolean => message.startsWith("InternalError: out of memory");

const levelOf = (text: string): "debug" | "info" | "warn" | "error" =>
  text === "debug" || text === "warn" || text === "error" ? text : "info";

function failed(message: string): HoldfastError {
  return new HoldfastError("GRAPH_CODE_FAILED", `The code failed: ${message.slice(0, 2_000)}`);
}

function budget({ timeoutMs, memoryMb }: CodeJob, why: string): HoldfastError {
  const limits = `limits: ${timeoutMs} ms, ${memoryMb} MB`;
  return new HoldfastError("GRAPH_CODE_BUDGET", `The code was ended, since ${why} (${limits}).`);
}
