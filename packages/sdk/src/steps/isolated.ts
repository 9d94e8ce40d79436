/**
 * `isolated()`: marks a function whose calls as a step's body run in a thread of the pool. It stands in a registry of
 * the thread that evaluates its module, under its module and name; a pool thread imports the module and finds it there.
 * This file is all that such a module needs of Holdfast, so it imports little.
 */
import { type DurationInput, describeValue, HoldfastError, parseDurationMs } from "@holdfast/core";

/** Where a pool thread finds a function, and what it may use. */
export interface IsolationMark {
  /** URL, as `import()` takes it. */
  readonly module: string;
  readonly name: string;
  readonly budgetMs: number;
  /** 0 = what the pool's threads have. */
  readonly memoryMb: number;
}

export interface IsolatedOptions {
  /**
   * How long one call may take, from its start in the thread, up to 24 h; after that the thread is ended and the step's
   * attempt fails with `ISOLATE_BUDGET`. Default 5 min.
   * @example budget: "20s"
   */
  readonly budget?: DurationInput;
  /**
   * How much memory the thread's objects may take, in megabytes; default: Node's limit.
   * @example memoryMb: 256
   */
  readonly memoryMb?: number;
}

/** What the code of a pool thread finds under `POOL_THREAD_KEY`. */
export interface PoolThreadGlobal {
  /**
   * Called by `connect()`, and throws: the error is reported even where no code awaits it.
   * @throws HoldfastError `ISOLATE_CONNECT`
   */
  readonly refuseConnect: () => never;
  readonly currentExecution: () => unknown;
  /** What its code is doing right now; main asks that when a turn is over its budget. */
  readonly lastStack: () => string;
}

type AnyFunction = (...args: never[]) => unknown;

interface Registered {
  readonly mark: IsolationMark;
  readonly body: AnyFunction;
}

// Shared by all copies of this package in a thread.
const REGISTRY_KEY = Symbol.for("holdfast.isolated");
const MARK_KEY = Symbol.for("holdfast.isolationMark");
export const POOL_THREAD_KEY = Symbol.for("holdfast.poolThread");

const DEFAULT_BUDGET_MS = 5 * 60_000;
/** Timers of Node do not reach further than 24 days. */
const MAX_BUDGET_MS = 24 * 60 * 60_000;
const MAX_NAME_LENGTH = 256;
/** Less, and Node cannot start a thread. */
const MIN_MEMORY_MB = 16;
const MAX_MEMORY_MB = 1024 * 1024;

function registry(): Map<string, Registered> {
  const globals = globalThis as Record<symbol, unknown>;
  globals[REGISTRY_KEY] ??= new Map<string, Registered>();
  return globals[REGISTRY_KEY] as Map<string, Registered>;
}

const keyOf = (module: string, name: string): string => `${module}\n${name}`;

/**
 * Marks a function: `step.run("parse", parse, input)` runs it in a thread of the pool, where it stops neither this
 * thread nor the other steps. Called in any other way it is the function itself. Its module is evaluated once in each
 * thread of the pool, so it must not call `connect()`.
 * @param module `import.meta.url`, or `__filename`, of the module that the call is in
 * @param name the function's name; unique in the module
 * @throws HoldfastError `ISOLATE_MODULE_INVALID`, `OPTION_INVALID`
 */
export function isolated<Args extends unknown[], Result>(
  module: string | URL,
  name: string,
  body: (...args: Args) => Result,
  options: IsolatedOptions = {},
): (...args: Args) => Result {
  const mark = markOf(module, name, options);
  if (typeof body !== "function") {
    throw new HoldfastError(
      "ISOLATE_MODULE_INVALID",
      `isolated() needs a function as its third argument, not ${describeValue(body)}.`,
    );
  }
  const key = keyOf(mark.module, name);
  refuseTwin(key, mark, body);
  // The parameters count for step.run(), which tells options from arguments by them.
  const call = Object.defineProperties((...args: Args): Result => body(...args), {
    length: { value: body.length },
    name: { value: name },
    [MARK_KEY]: { value: mark },
  });
  registry().set(key, { mark, body });
  return call;
}

/**
 * Two functions of one name: the thread would run one of them for both. On main a module may be evaluated again with
 * changed code, as while developing; a pool thread evaluates it once, before the connection is made.
 */
function refuseTwin(key: string, { module, name }: IsolationMark, body: AnyFunction): void {
  const before = registry().get(key);
  if (before === undefined || poolThread() === undefined || String(before.body) === String(body)) return;
  throw new HoldfastError(
    "ISOLATE_MODULE_INVALID",
    `The module ${module} has two isolated functions called "${name}"; give each a name of its own.`,
  );
}

/** What the pool has put into this thread; undefined outside of the pool's threads. */
export function poolThread(): PoolThreadGlobal | undefined {
  return (globalThis as Record<symbol, unknown>)[POOL_THREAD_KEY] as PoolThreadGlobal | undefined;
}

export function isolationMarkOf(body: unknown): IsolationMark | undefined {
  if (typeof body !== "function") return undefined;
  return (body as { readonly [MARK_KEY]?: IsolationMark })[MARK_KEY];
}

/** All that this thread has marked so far. */
export function isolationMarks(): readonly IsolationMark[] {
  return [...registry().values()].map(({ mark }) => mark);
}

/** A function that this thread has marked, by its module, or by its name alone where that is enough to tell. */
export function findIsolated(module: string, name: string): AnyFunction | undefined {
  const found = registry().get(keyOf(module, name));
  if (found) return found.body;
  const others = [...registry().values()].filter(({ mark }) => mark.name === name);
  return others.length === 1 ? others[0]?.body : undefined;
}

function markOf(module: unknown, name: unknown, options: IsolatedOptions): IsolationMark {
  const unknown = Object.keys(options).find((key) => key !== "budget" && key !== "memoryMb");
  if (unknown !== undefined) {
    throw new HoldfastError(
      "OPTION_INVALID",
      `isolated() has no option \`${unknown}\`; valid options: \`budget\`, \`memoryMb\`.`,
    );
  }
  if (typeof name !== "string" || name === "" || name.length > MAX_NAME_LENGTH || name.includes("\n")) {
    throw new HoldfastError(
      "ISOLATE_MODULE_INVALID",
      `isolated() needs a name of 1 to ${MAX_NAME_LENGTH} characters as its second argument, not ${describeValue(name)}.`,
    );
  }
  const { budget = DEFAULT_BUDGET_MS, memoryMb = 0 } = options;
  return {
    module: moduleUrl(module),
    name,
    budgetMs: parseBudgetMs(budget, `isolated() "${name}"`),
    memoryMb: memoryMb === 0 && options.memoryMb === undefined ? 0 : checkedMemory(memoryMb, name),
  };
}

/** A module as `import()` takes it. @throws HoldfastError `ISOLATE_MODULE_INVALID` */
export function moduleUrl(module: unknown): string {
  const text = module instanceof URL ? module.href : module;
  if (typeof text === "string" && /^(file|data|blob|node|https?):/.test(text)) return text;
  if (typeof text === "string" && /^([/\\]|[a-zA-Z]:[/\\])/.test(text)) return fileUrl(text);
  throw new HoldfastError(
    "ISOLATE_MODULE_INVALID",
    `The module of isolated code must be a file URL or an absolute path, such as \`import.meta.url\` or \`__filename\`, not ${describeValue(text)}.`,
  );
}

/** Of a path of this system or of Windows, whose code may be tried elsewhere: `C:\\app`, `\\\\server\\share`. */
function fileUrl(path: string): string {
  const isWindows = /^(\\|[a-zA-Z]:)/.test(path);
  const slashes = isWindows ? path.replaceAll("\\", "/") : path;
  const escaped = slashes.replaceAll(/[%?#\\\n\r\t]/g, (character) => encodeURIComponent(character));
  if (isWindows && slashes.startsWith("//")) return new URL(`file:${escaped}`).href;
  return new URL(`file://${slashes.startsWith("/") ? "" : "/"}${escaped}`).href;
}

/** @throws HoldfastError `OPTION_INVALID` */
export function parseBudgetMs(budget: DurationInput, what: string): number {
  try {
    return parseDurationMs(budget, "`budget`", { minMs: 1, maxMs: MAX_BUDGET_MS });
  } catch (cause) {
    throw new HoldfastError(
      "OPTION_INVALID",
      `The option \`budget\` of ${what} is no duration from 1 ms to 24 h: ${describeValue(budget)}. Give milliseconds or a string such as "20s".`,
      { cause },
    );
  }
}

function checkedMemory(memoryMb: unknown, name: string): number {
  const isValid = Number.isSafeInteger(memoryMb) && (memoryMb as number) >= MIN_MEMORY_MB;
  if (isValid && (memoryMb as number) <= MAX_MEMORY_MB) return memoryMb as number;
  throw new HoldfastError(
    "OPTION_INVALID",
    `The option \`memoryMb\` of isolated() "${name}" must be an integer from ${MIN_MEMORY_MB} to ${MAX_MEMORY_MB}, not ${describeValue(memoryMb)}.`,
  );
}
