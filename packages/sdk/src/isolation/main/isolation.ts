/**
 * A connection's use of the pool: makes the pool when something needs it first, checks isolated code before the
 * connection is made, and runs the bodies of steps in it.
 */
import { HoldfastError, type Log, systemClock, systemRandom, systemTimers } from "@holdfast/core";
import type { IsolatedBodies, IsolatedCall, IsolatedEnd } from "../../execution/isolated-body.ts";
import { readThrown } from "../../execution/thrown.ts";
import { isolationMarks } from "../../steps/isolated.ts";
import type { CodeReference } from "../shared/isolation-messages.ts";
import { IsolationPool } from "./pool.ts";
import type { IsolationDebugState, LoggedInThread, LostTurn } from "./pool-types.ts";
import { type PoolResourceLimits, poolThreadSpawner } from "./spawn-pool-thread.ts";

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
  /** What the threads need to know about them; plain data. */
  readonly handlers: unknown;
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
  readonly #deps: IsolationDeps;
  #pool: IsolationPool | undefined;
  #making: Promise<IsolationPool> | undefined;
  #isClosed = false;

  constructor(deps: IsolationDeps) {
    this.#deps = deps;
  }

  /** The pool. @throws HoldfastError `CONNECT_CLOSED` */
  async open(): Promise<IsolationPool> {
    this.#making ??= this.#deps.loadScript().then((script) => this.#make(script));
    return this.#making;
  }

  /**
   * Starts what is to be warm, and evaluates the modules of all handlers and of all code that is marked by now.
   * @throws HoldfastError `ISOLATE_MODULE_INVALID`, `ISOLATE_CONNECT`, `ISOLATE_THREAD_LOST`
   */
  async prepare(): Promise<void> {
    const codes = isolationMarks().map(({ module, name }): CodeReference => ({ kind: "body", module, name }));
    const hasCode = codes.length > 0 || this.#deps.forHandlers !== undefined;
    if (!hasCode && this.#deps.options.warm === 0) return;
    const pool = await this.open();
    if (hasCode) await pool.load(codes);
  }

  async run({ mark, args, subject, signal, onBegun }: IsolatedCall): Promise<IsolatedEnd> {
    const { module, name, budgetMs, memoryMb } = mark;
    const failed = (error: unknown): IsolatedEnd => ({ type: "failed", thrown: readThrown(error), timing: null });
    try {
      const pool = this.#pool ?? (await this.open());
      if (signal.aborted) return failed(signal.reason);
      const { requestId, runId, functionSlug, step } = subject;
      const code: CodeReference = { kind: "body", module, name };
      const turn = { code, args, subject: { requestId, runId, functionSlug, step }, budgetMs, memoryMb, onBegun };
      return await pool.runBody(turn, signal);
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
    const handlers = forHandlers?.handlers;
    this.#pool = new IsolationPool({
      rules: { ...rules, maxAbandoned: rules.threads },
      resourceLimits,
      spawn: handlers === undefined ? spawn : (init, limits) => spawn({ ...init, handlers }, limits),
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
