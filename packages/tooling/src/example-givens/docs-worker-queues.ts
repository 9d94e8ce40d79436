/** What the blocks of docs/worker-queues.md use and do not show. */
import type { Handler, Holdfast, HoldfastFunction } from "holdfast";

export declare const app: Holdfast;
export declare const functions: readonly HoldfastFunction[];
export declare const handler: Handler<unknown>;
