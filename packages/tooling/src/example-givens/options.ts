/** What the `@example`s of options use and do not show. */
import type { LoggerLike } from "@holdfast/core";
import type { HoldfastFunction } from "holdfast";

export { staticSchema } from "holdfast";

export declare const alerts: { send(text: string, about?: unknown): void };
export declare const controller: AbortController;
export declare const health: { set(isUp: boolean): void };
export declare class HttpError extends Error {
  readonly status: number;
}
export declare const ids: readonly string[];
export declare const page: { readonly nextCursor: string };
export declare function pino(): LoggerLike;
export declare const printLabel: HoldfastFunction;
export declare const seats: { cancel(id: string): Promise<void> };
export declare const secrets: Readonly<Record<"eventKey" | "signingKey" | "lastSigningKey", string>>;
