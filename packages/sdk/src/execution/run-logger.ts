/**
 * The logger of a handler: the app's own one, whose lines say run, function, step and attempt, and which leaves out
 * lines of the handler's code while that is a replay (`replay-watch.ts`). Lines of step bodies are always logged.
 */
import type { LoggerLike, LogLevel } from "@holdfast/core";
import { type CurrentStep, type TracedExecution, tracedExecution } from "./current.ts";
import { traceIds } from "./trace-ids.ts";

export interface LoggedRun {
  readonly runId: string;
  readonly functionSlug: string;
  /** Of the handler. */
  readonly attempt: number;
  readonly isReplaying: () => boolean;
}

/** What each line says besides. */
type Fields = Readonly<Record<string, unknown>>;

/** Methods that write a line, of the usual loggers. Others, such as `isLevelEnabled`, are called as they are. */
const LINE_METHODS: ReadonlySet<PropertyKey> = new Set([
  ...["trace", "debug", "verbose", "silly", "info", "log", "notice", "http"],
  ...["warn", "warning", "error", "fatal", "critical"],
]);

/** Has what the given logger has; `child()` gives one that is as silent as this one. */
export function createRunLogger(base: LoggerLike, run: LoggedRun): LoggerLike {
  const targets = new Targets(base, run);
  const methods = new Map<PropertyKey, unknown>();
  const methodOf = (name: PropertyKey, own: (...args: unknown[]) => unknown): unknown => {
    if (LINE_METHODS.has(name)) return (...args: unknown[]) => writeLine(name, args, run, targets);
    if (name !== "child") return own.bind(base);
    return (...args: unknown[]) => {
      const child: unknown = own.apply(base, args);
      return isLogger(child) ? createRunLogger(child, run) : child;
    };
  };
  return new Proxy({} as LoggerLike, {
    has: (_target, name) => Reflect.has(base, name),
    get: (_target, name) => {
      const own: unknown = Reflect.get(base, name, base);
      if (typeof own !== "function") return own;
      if (!methods.has(name)) methods.set(name, methodOf(name, own as (...args: unknown[]) => unknown));
      return methods.get(name);
    },
  });
}

/** As everywhere: a logger that fails does not disturb the code that logs. */
function writeLine(name: PropertyKey, args: readonly unknown[], run: LoggedRun, targets: Targets): void {
  const current = tracedExecution();
  const own = current?.runId === run.runId ? current : undefined;
  if (own?.step === undefined && run.isReplaying()) return;
  writeTo(targets.of(own), name, args);
}

function writeTo({ logger, fields }: Target, name: PropertyKey, args: readonly unknown[]): void {
  try {
    const method = Reflect.get(logger, name, logger) as (...args: unknown[]) => unknown;
    const returned = Reflect.apply(method, logger, fields === null ? args : withFields(args, fields));
    if (typeof returned === "object" && returned !== null) Promise.resolve(returned).catch(() => {});
  } catch {
    // There is nowhere left to report it.
  }
}

interface Target {
  readonly logger: LoggerLike;
  /** What has to be added to each line; null: the logger is a child that knows. */
  readonly fields: Fields | null;
}

/** The loggers that lines go to: a child for the handler, and one for each attempt of a step, where there are children. */
class Targets {
  readonly #base: LoggerLike;
  readonly #run: LoggedRun;
  readonly #ofSteps = new WeakMap<CurrentStep, Target>();
  #ofHandler: Target | undefined;

  constructor(base: LoggerLike, run: LoggedRun) {
    this.#base = base;
    this.#run = run;
  }

  of(execution: TracedExecution | undefined): Target {
    const { runId, functionSlug, attempt } = this.#run;
    const step = execution?.step;
    if (step === undefined) {
      this.#ofHandler ??= targetOf(this.#base, { runId, functionSlug, attempt, ...traceIds(execution) });
      return this.#ofHandler;
    }
    const known = this.#ofSteps.get(step);
    if (known !== undefined) return known;
    const ids = traceIds(execution, step);
    const made = targetOf(this.#base, { runId, functionSlug, stepId: step.id, attempt: step.attempt, ...ids });
    this.#ofSteps.set(step, made);
    return made;
  }
}

/** Gives a line to a logger, or to a child of it with these fields. A logger that fails is left alone. */
export function logWithFields(base: LoggerLike, level: LogLevel, args: readonly unknown[], fields: Fields): void {
  const target = targetOf(base, fields);
  writeTo(target, level, args);
}

function targetOf(base: LoggerLike, fields: Fields): Target {
  try {
    const { child } = base as { readonly child?: unknown };
    const made: unknown = typeof child === "function" ? child.call(base, fields) : undefined;
    if (isLogger(made)) return { logger: made, fields: null };
  } catch {
    // What is called so may be something else.
  }
  return { logger: base, fields };
}

function isLogger(value: unknown): value is LoggerLike {
  return typeof value === "object" && value !== null && typeof (value as Partial<LoggerLike>).info === "function";
}

/**
 * Adds fields to a line of either order: to the data where there is some, `info({ … }, "text")` or `info("text", { … })`,
 * else behind the text. What the author says of the same name stays.
 */
function withFields(args: readonly unknown[], fields: Fields): readonly unknown[] {
  const [first, ...rest] = args;
  if (isData(first)) return [{ ...fields, ...first }, ...rest];
  const last = args.at(-1);
  return args.length > 1 && isData(last) ? [...args.slice(0, -1), { ...fields, ...last }] : [...args, fields];
}

function isData(value: unknown): value is Fields {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
