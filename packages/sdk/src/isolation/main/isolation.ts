/**
 * A connection's use of the pool: makes the pool when something needs it first, checks isolated code before the
 * connection is made, and runs the bodies of steps in it.
 */
import type { MessagePort } from "node:worker_threads";
import { HoldfastError, type Log, systemClock, systemRandom, systemTimers } from "@holdfast/core";
import type { IsolatedBodies, IsolatedCall, IsolatedEnd } from "../../execution/isolated-body.ts";
import { readThrown } from "../../execution/thrown.ts";
import { type IsolationMark, isolationMarks } from "../../steps/isolated.ts";
import { slotCount } from "../machines/pool-types.ts";
import type { CodeReference } from "../shared/isolation-messages.ts";
import { cellsBytes } from "../shared/thread-cells.ts";
import { IsolationPool } from "./pool.ts";
import type { IsolationDebugState, LoggedInThread, LostTurn } from "./pool-types.ts";
import { type PoolResourceLimits, poolThreadSpawner, type SpawnPoolThread } from "./spawn-pool-thread.ts";

export interface IsolationOptions {
  readonly threads: number;
  readonly warm: number;
  readonly maxQueue: number;
  /** Null = never. */
  readonly recycleAfter: number | null;
  /** Null = never. */
  readonly idleMs: number | null;
  readonly resourceLimits: PoolResourceLimits;
}

export interface IsolationDeps {
  readonly options: IsolationOptions;
  readonly loadScript: () => Promise<string>;
  readonly log: Log;
  /** For what code in threads prints. */
  readonly output?: Log;
  readonly isDebugged: () => boolean;
  readonly forHandlers?: HandlerSupport;
}

/** Functions whose handlers run in the threads. */
export interface HandlerSupport {
  /** Theirs, in the order in which a thread evaluates them. */
  readonly modules: readonly string[];
  /** What a thread needs to know about them: plain data, and ports that are transferred to it. */
  readonly dataFor: () => { readonly handlers: unknown; readonly transfer?: readonly MessagePort[] };
  readonly onTurnLost: (lost: LostTurn) => void;
  readonly onLogged: LoggedInThread;
}

/** What a pool that was never needed shows. */
export const UNUSED_POOL: IsolationDebugState = {
  threads: 0,
  busy: 0,
  queued: 0,
  oldestMs: null,
  overruns: 0,
  crashes: 0,
  recycled: 0,
  abandoned: 0,
};

export class Isolation implements IsolatedBodies {
  /** Of the pool, also before it is made: what it is doing is read there (`shared/thread-cells.ts`). */
  readonly memory: SharedArrayBuffer;
  readonly #deps: IsolationDeps;
  readonly #maxAbandoned: number;
  #pool: IsolationPool | undefined;
  #making: Promise<IsolationPool> | undefined;
  #modules: readonly string[] = [];
  #isClosed = false;

  constructor(deps: IsolationDeps) {
    const { threads } = deps.options;
    this.#deps = deps;
    this.#maxAbandoned = threads;
    this.memory = new SharedArrayBuffer(cellsBytes(slotCount({ threads, maxAbandoned: this.#maxAbandoned })));
  }

  /** The pool. @throws HoldfastError `CONNECT_CLOSED` */
  async open(): Promise<IsolationPool> {
    this.#making ??= this.#deps.loadScript().then((script) => this.#make(script));
    return this.#making;
  }

  /**
   * Starts what is to be warm, and evaluates the modules of all handlers and of all code that is marked by now.
   * @throws HoldfastError `ISOLATE_MODULE_INVALID`, `ISOLATE_CONNECT`, `ISOLATE_LISTEN`, `ISOLATE_THREAD_LOST`
   */
  async prepare(): Promise<void> {
    const { forHandlers, options } = this.#deps;
    const groups = groupsOf(isolationMarks(), forHandlers !== undefined);
    if (groups.length === 0 && options.warm === 0) return;
    this.#modules = [
      ...groups.flatMap(({ codes }) => codes.map(({ module }) => module)),
      ...(forHandlers?.modules ?? []),
    ];
    const moduleAt = (place: number): string | undefined => this.#modules[place];
    const pool = await this.open();
    await Promise.all(groups.map(({ codes, ...where }) => pool.load(codes, { ...where, moduleAt })));
  }

  /** The module that a thread evaluates now, for `prepare`; undefined = none has begun with one. */
  get evaluating(): string | undefined {
    return this.#modules[this.#pool?.cells.readLoading() ?? -1];
  }

  run(call: IsolatedCall): Promise<IsolatedEnd> {
    return this.#pool ? runIn(this.#pool, call) : this.#runFirst(call);
  }

  async #runFirst(call: IsolatedCall): Promise<IsolatedEnd> {
    try {
      return await runIn(await this.open(), call);
    } catch (error) {
      return failed(error);
    }
  }

  debugState(): IsolationDebugState {
    return this.#pool?.debugState() ?? UNUSED_POOL;
  }

  /** Ends all threads. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pool?.close();
  }

  #make(script: string): IsolationPool {
    if (this.#isClosed) throw new HoldfastError("CONNECT_CLOSED", "The connection is closed, and its threads with it.");
    const { options, log, output, isDebugged, forHandlers } = this.#deps;
    const { resourceLimits, ...rules } = options;
    const spawn = poolThreadSpawner(script);
    const withHandlers =
      ({ dataFor }: HandlerSupport): SpawnPoolThread =>
      (init, limits) => {
        const { handlers, transfer } = dataFor();
        return spawn({ ...init, handlers }, limits, transfer);
      };
    this.#pool = new IsolationPool({
      rules: { ...rules, maxAbandoned: this.#maxAbandoned },
      resourceLimits,
      memory: this.memory,
      spawn: forHandlers === undefined ? spawn : withHandlers(forHandlers),
      clock: systemClock,
      timers: systemTimers,
      random: systemRandom,
      log,
      ...(output ? { output } : {}),
      isDebugged,
      ...(forHandlers ? { onTurnLost: forHandlers.onTurnLost, onLogged: forHandlers.onLogged } : {}),
    });
    return this.#pool;
  }
}

interface LoadGroup {
  readonly memoryMb: number;
  readonly codes: readonly CodeReference[];
  readonly firstPlace: number;
  readonly withHandlers: boolean;
}

/**
 * What is evaluated in threads with the same memory limit, as it is in turns. Those without one come last, so that a
 * pool of one thread has such a one afterwards: handlers run there, and modules of handlers are evaluated there.
 */
function groupsOf(marks: readonly IsolationMark[], hasHandlers: boolean): readonly LoadGroup[] {
  const limits = [...new Set(marks.map(({ memoryMb }) => memoryMb)).add(0)].sort((a, b) => b - a);
  let firstPlace = 0;
  const groups = limits.map((memoryMb): LoadGroup => {
    const codes = marks.filter((mark) => mark.memoryMb === memoryMb).map(codeOf);
    const group = { memoryMb, codes, firstPlace, withHandlers: hasHandlers && memoryMb === 0 };
    firstPlace += codes.length;
    return group;
  });
  return groups.filter(({ codes, withHandlers }) => codes.length > 0 || withHandlers);
}

const codeOf = ({ module, name }: IsolationMark): CodeReference => ({ kind: "body", module, name });

function runIn(pool: IsolationPool, call: IsolatedCall): Promise<IsolatedEnd> {
  const { mark, args, subject, signal, whenConfirmed, onBegun } = call;
  if (signal.aborted) return Promise.resolve(failed(signal.reason));
  const { budgetMs, memoryMb } = mark;
  return pool.runBody({ code: codeOf(mark), args, subject, budgetMs, memoryMb, whenConfirmed, onBegun }, signal);
}

const failed = (error: unknown): IsolatedEnd => ({ type: "failed", thrown: readThrown(error), timing: null });
