/**
 * The pool as a connection needs it for isolated functions: ports between its threads and the connection thread, and
 * threads that are there before main may be blocked. docs/decisions/0069.
 */
import type { LoggerLike } from "@holdfast/core";
import { logWithFields } from "../../execution/run-logger.ts";
import { clientDataOf } from "../../functions/client-data.ts";
import { definitionOf } from "../../functions/define-function.ts";
import { isolatedFunctionOf } from "../../functions/load-isolated.ts";
import type { AppInput } from "../../functions/registry.ts";
import type { IsolationOptions } from "../../isolation/main/isolation.ts";
import type { IsolationPool } from "../../isolation/main/pool.ts";
import type { LoggedInThread, LostTurn } from "../../isolation/main/pool-types.ts";
import type { IsolatedFunctions } from "../pool-thread/isolated-strategy.ts";
import type { PoolThreadPort } from "../shared/messages.ts";
import type { SerializableConfig } from "../shared/serializable-config.ts";
import type { ConnectionPool, PoolListener } from "./connection-pool.ts";

/** What the threads need to know about the functions whose handlers they run. */
function isolatedFunctionsOf(apps: readonly AppInput[]): IsolatedFunctions {
  const functions = apps.flatMap(({ client, functions: given }) =>
    given.flatMap((fn) => {
      const definition = definitionOf(fn);
      if (definition?.isolate === undefined) return [];
      return isolatedFunctionOf({ client, slug: fn.slug, definition, isFailureHandler: false }) ?? [];
    }),
  );
  return { functions, clients: apps.map(({ client }) => clientDataOf(client)) };
}

/** Null: no function is isolated. */
export function createHandlerPool(apps: readonly AppInput[], options: IsolationOptions): HandlerPool | null {
  const handlers = isolatedFunctionsOf(apps);
  const loggers = new Map(apps.map(({ client }) => [client.options.id, client.options.logger]));
  return handlers.functions.length === 0 ? null : new HandlerPool(handlers, loggers, options);
}

export class HandlerPool {
  readonly handlers: IsolatedFunctions;
  readonly #loggers: ReadonlyMap<string, LoggerLike>;
  readonly #options: IsolationOptions;
  #listener: PoolListener | undefined;

  constructor(handlers: IsolatedFunctions, loggers: ReadonlyMap<string, LoggerLike>, options: IsolationOptions) {
    this.handlers = handlers;
    this.#loggers = loggers;
    this.#options = options;
  }

  /** What the connection thread and gateways are told: as many requests at once as there are threads, and a short line. */
  get config(): Pick<SerializableConfig, "isolated" | "partitions"> {
    const { threads, maxQueue } = this.#options;
    const functions = this.handlers.functions.map(({ config }) => config.id);
    return {
      isolated: this.handlers.functions.map(({ appId, config }) => ({ appName: appId, functionSlug: config.id })),
      partitions: [{ functions, capacity: threads + Math.min(maxQueue, threads) }],
    };
  }

  get modules(): readonly string[] {
    return this.handlers.functions.map(({ module }) => module);
  }

  readonly dataFor = () => ({ handlers: this.handlers });

  readonly onTurnLost = ({ slot, reason }: LostTurn): void => this.#listener?.onLost(slot, reason);

  readonly onLogged: LoggedInThread = (level, { appId, args, fields }) => {
    const logger = this.#loggers.get(appId);
    if (logger) logWithFields(logger, level, args, fields);
  };

  /** With main blocked no thread can be started: one is always there. */
  portsOf(pool: IsolationPool): ConnectionPool {
    const { threads, warm } = this.#options;
    const kept = Math.max(1, warm);
    pool.want(kept);
    return {
      cells: pool.buffer,
      connect: (listener) => {
        this.#listener = listener;
        const ports: PoolThreadPort[] = [];
        let isCollecting = true;
        pool.connectPorts((slot, port) => {
          if (isCollecting) ports.push({ slot, port });
          else listener.onStarted({ slot, port });
        });
        isCollecting = false;
        return ports;
      },
      want: (waiting) => pool.want(waiting === 0 ? kept : Math.min(threads, pool.debugState().busy + waiting)),
      expect: (slot, turn) => pool.expect(slot, turn),
    };
  }
}
