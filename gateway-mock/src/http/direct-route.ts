/**
 * A route as both who serve it see it: the listener in front of the router, and the router (`direct-routes.ts`). It is
 * given a request whose caller was admitted, and knows neither.
 */
import type { Status } from "./errors.ts";
import type { Admitted } from "./guard.ts";
import type { RouteDescription } from "./openapi/describe-route.ts";

/** A request whose caller was admitted. */
export interface DirectRequest extends Admitted {
  /** By which the gateway was called. */
  readonly url: string;
  /** What its path has in the place of the route's parameter. */
  readonly param: string;
  header(name: DirectHeader): string | undefined;
  /** Rejects when the caller has gone before its end. */
  body(): Promise<Uint8Array>;
}

/** Headers that these routes read. */
export type DirectHeader = "x-inngest-event-id-seed" | "x-forwarded-proto" | "traceparent" | "tracestate";

export interface DirectAnswer {
  readonly status: Status | 200;
  readonly contentType: string | null;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
}

/** A `POST` route. */
export interface DirectRoute {
  readonly description: RouteDescription;
  /** As the router writes it; at most one parameter. */
  readonly path: string;
  readonly maxBodyBytes: number;
  /** Rejects with what the answer to every failed request is made of. */
  answer(request: DirectRequest): Promise<DirectAnswer>;
}

export function jsonAnswer(value: object, status: Status | 200): DirectAnswer {
  return { status, contentType: "application/json", body: JSON.stringify(value) };
}

export function binaryAnswer(body: Uint8Array<ArrayBuffer>): DirectAnswer {
  return { status: 200, contentType: "application/octet-stream", body };
}
