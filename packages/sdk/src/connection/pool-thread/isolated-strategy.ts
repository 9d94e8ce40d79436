/**
 * Executes requests of isolated functions in a pool thread: imports the module, once a thread, and runs a pass with the
 * handler that it exports, by the same code as on main.
 */
import { type Clock, type Log, type LoggerLike, silentLog, type Timers } from "@holdfast/core";
import type { ExecutionStrategy, PassRequest } from "../../execution/execution.ts";
import { createMainThreadStrategy } from "../../execution/main-thread.ts";
import type { BodyWatch } from "../../execution/pass-options.ts";
import type { AppClient } from "../../functions/app-client.ts";
import { type ClientData, clientOf } from "../../functions/client-data.ts";
import { type ImportModule, type IsolatedFunction, loadIsolated } from "../../functions/load-isolated.ts";
import type { RegisteredFunction, Registry } from "../../functions/registry.ts";
import type { TestCalls } from "./test-calls.ts";
import type { TestDouble } from "./test-messages.ts";

/** What pool threads run handlers of; plain data. */
export interface IsolatedFunctions {
  readonly functions: readonly IsolatedFunction[];
  /** Of the apps that the functions belong to. */
  readonly clients: readonly ClientData[];
  /** In a test of a function: what is the test's. */
  readonly double?: TestDouble;
}

export interface IsolatedStrategyDeps extends IsolatedFunctions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly importModule: ImportModule;
  /** For plain handlers; the logger of a function that was made in the thread is its own. */
  readonly loggerOf: (appId: string) => LoggerLike;
  readonly watch: (request: PassRequest) => BodyWatch;
  /** For what fails. */
  readonly log: Log;
  /** In a test of a function. */
  readonly test?: TestCalls | undefined;
  /** The module is there, the pass begins. */
  readonly onRunning: () => void;
}

/** Undefined: this app has no such isolated function. */
export function findIsolated(
  { functions }: Pick<IsolatedFunctions, "functions">,
  { appName, functionSlug }: Pick<PassRequest, "appName" | "functionSlug">,
): IsolatedFunction | undefined {
  return functions.find(({ appId, config }) => appId === appName && config.id === functionSlug);
}

export function createIsolatedStrategy(deps: IsolatedStrategyDeps): ExecutionStrategy {
  const { importModule, watch, onRunning, clock, timers, log, test } = deps;
  const clients = new Map(deps.clients.map((data) => [data.id, clientOf(data, deps.loggerOf(data.id))]));
  const strategies = new Map<IsolatedFunction, Promise<ExecutionStrategy>>();
  const load = async (fn: IsolatedFunction): Promise<ExecutionStrategy> => {
    const client = clients.get(fn.appId) as AppClient;
    const loading = loadIsolated(fn, client, importModule);
    const loaded = await loading.catch((error: unknown) => ({ error }));
    if (test === undefined) return createMainThreadStrategy(registryOf(loaded), { clock, timers, watch, log });
    const registry = registryOf("error" in loaded ? loaded : { ...loaded, client: test.clientOf(loaded.client) });
    // What fails is in the test's result, and is often what is tested.
    const forTest = { intercept: test.intercept, withoutJitter: true, log: silentLog };
    return createMainThreadStrategy(registry, { clock, timers, watch, ...forTest });
  };
  return {
    execute: async (request, port, signal) => {
      const fn = findIsolated(deps, request);
      let strategy = fn && strategies.get(fn);
      if (fn && strategy === undefined) {
        strategy = load(fn);
        strategies.set(fn, strategy);
      }
      const loaded = await (strategy ?? createMainThreadStrategy(registryOf(undefined)));
      onRunning();
      return loaded.execute(request, port, signal);
    },
  };
}

/** Of one function, or of what is wrong with it: then that is the reply to each request. */
function registryOf(loaded: RegisteredFunction | { readonly error: unknown } | undefined): Registry {
  return {
    find: () => {
      if (loaded !== undefined && "error" in loaded) throw loaded.error;
      return loaded;
    },
    slugs: () => [],
  };
}
