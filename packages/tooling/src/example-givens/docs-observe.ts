/** What the blocks of docs/observe.md use and do not show. */
import type { AsyncLocalStorage } from "node:async_hooks";
import type { Holdfast, HoldfastFunction, TriggerInput } from "holdfast";

export { channel } from "node:diagnostics_channel";
export type { HoldfastChannels } from "holdfast";

export declare const alerts: { send(what: unknown, about?: unknown): void };
export declare const app: Holdfast;
export declare const card: string;
export declare const data: { readonly item: number };
export declare const functions: readonly HoldfastFunction[];
export declare const health: { set(state: string): void };
export declare const histogram: { record(value: number, labels: object): void };
export declare const order: HoldfastFunction<{ readonly item: number }, string>;
export declare const progress: { show(step: string | null, output: unknown): void; warn(...about: unknown[]): void };
export declare const signal: AbortSignal;
export declare const spans: AsyncLocalStorage<unknown>;
export declare const tracer: { startSpan(name: string, options: object): unknown };
export declare const triggers: readonly TriggerInput[];
