/** What the blocks of docs/functions.md use and do not show. */
import type { Holdfast as App } from "holdfast";

export { Holdfast } from "holdfast";

export declare const app: App;
export declare function buildReport(): Promise<string>;
export declare function fetchPage(cursor: string): Promise<string>;
export declare function greet(data: object): Promise<void>;
export declare class HttpError extends Error {
  readonly status: number;
}
export declare function insertAll(rows: readonly object[]): Promise<number>;
export declare function lookUp(question: string): Promise<string[]>;
export declare function makeThumbnails(file: string): Promise<string[]>;
export declare function pay(card: string, options: { readonly signal: AbortSignal }): Promise<void>;
export declare function print(order: string): Promise<string>;
export declare function push(tenant: string): Promise<void>;
export declare function release(id: string): Promise<void>;
export declare function remind(cron: string): Promise<void>;
export declare function reserve(cart: string): Promise<{ readonly id: string }>;
export declare function sendTo(address: string, pdf: string): Promise<void>;
export declare function tell(data: object, message: string): Promise<void>;
export declare function write(facts: readonly string[]): Promise<string>;
