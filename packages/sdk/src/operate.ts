/**
 * `holdfast/operate`: what people and scripts change while everything runs: pauses of functions, drains of workers,
 * rollouts of versions, many runs at once. An entry of its own, since apps that only send and run never need it.
 */
import { type BulkApi, bulkApi } from "./operate/bulk.ts";
import type { OperatedClient } from "./operate/call-gateway.ts";
import { type FunctionsApi, functionsApi } from "./operate/functions.ts";
import { type RolloutsApi, rolloutsApi } from "./operate/rollouts.ts";
import { type WorkersApi, workersApi } from "./operate/workers.ts";

export type { GatewayAccess } from "./events/gateway-access.ts";
export type {
  BulkAction,
  BulkApi,
  BulkFilter,
  BulkHandle,
  BulkJob,
  BulkPreview,
  BulkResultOptions,
} from "./operate/bulk.ts";
export type { OperatedClient } from "./operate/call-gateway.ts";
export type { FunctionInfo, FunctionPause, FunctionsApi, PausedFunction, PauseOptions } from "./operate/functions.ts";
export type { RolloutOptions, RolloutState, RolloutsApi } from "./operate/rollouts.ts";
export type { DrainedWorker, WorkerInfo, WorkersApi } from "./operate/workers.ts";

/** What `operate` gives. */
export interface Operations {
  readonly functions: FunctionsApi;
  readonly workers: WorkersApi;
  readonly rollouts: RolloutsApi;
  readonly bulk: BulkApi;
}

/**
 * What can be changed at the gateway of a client, with its keys and in its environment. Holdfast's gateway only.
 *
 *     const { functions, workers, bulk } = operate(app);
 *     await functions.pause(order, { note: "the bank is down" });
 *     await workers.drain("web-1");
 *     const job = await bulk.rerun({ functionId: "shop-order", after: "2027-01-31T00:00:00Z" });
 *     await job.result({ onProgress: ({ done, total }) => console.log(`${done} of ${total}`) });
 */
export function operate(client: OperatedClient): Operations {
  return {
    functions: functionsApi(client),
    workers: workersApi(client),
    rollouts: rolloutsApi(client),
    bulk: bulkApi(client),
  };
}
