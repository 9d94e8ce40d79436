/**
 * What a pool thread adds to the pool's own part to run whole handlers (docs/decisions/0069): the connection to the
 * connection thread, and the functions, which it got as plain data.
 */
import { systemTimers } from "@holdfast/core";
import { clientOf } from "../../functions/client-data.ts";
import { loadIsolated } from "../../functions/load-isolated.ts";
import type { PoolHandlers } from "../../isolation/thread/pool-turns.ts";
import type { ThreadOfPool } from "../../isolation/thread/run-pool-thread.ts";
import { SDK_NAME } from "../../version.ts";
import { HandlerThread } from "./handler-thread.ts";
import { createIsolatedStrategy, findIsolated, type IsolatedFunctions } from "./isolated-strategy.ts";
import { TestCalls } from "./test-calls.ts";

export function createPoolHandlers(isolated: IsolatedFunctions, thread: ThreadOfPool): PoolHandlers {
  const { slot, cells, clock, importModule, isSpent, setPhase, onLent, onReturned, loggerOf, log } = thread;
  const ports = { clock, timers: systemTimers };
  const test = isolated.double && new TestCalls(isolated.double, clock);
  const handlers = new HandlerThread({
    ...{ ...ports, slot, cells, sdkVersion: SDK_NAME, log },
    strategy: (watch) =>
      createIsolatedStrategy({
        ...isolated,
        ...ports,
        importModule,
        loggerOf,
        watch,
        log,
        test,
        onRunning: () => setPhase("running"),
      }),
    isSpent,
    main: {
      onLent: (turn, request) => {
        setPhase("loading");
        const { requestId, runId, functionSlug } = request;
        onLent(turn, { requestId, runId, functionSlug }, findIsolated(isolated, request)?.budgetMs ?? 0);
      },
      onReturned,
    },
  });
  return {
    connect: (port) => handlers.connect(port),
    onFree: () => handlers.onFree(),
    onCrash: (error) => handlers.onCrash(error),
    check: async (onModule) => {
      for (const [index, fn] of isolated.functions.entries()) {
        onModule(index);
        const data = isolated.clients.find(({ id }) => id === fn.appId);
        if (data) await loadIsolated(fn, clientOf(data, loggerOf(data.id)), importModule);
      }
    },
  };
}
