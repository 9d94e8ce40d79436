import type { LoggerLike } from "@holdfast/core";
import type { Op } from "@holdfast/protocol";
import { Holdfast } from "../../src/app/holdfast.ts";
import type { HandlerContext } from "../../src/functions/define-function.ts";
import { hashStepId } from "../../src/steps/step-id.ts";
import { Engine, type EngineOptions, parse } from "./engine.ts";

export const silent: LoggerLike = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
export const client = new Holdfast({ id: "app", isDev: true, logger: silent }, {});
/** For clients that never get a request too large for a frame. */
export const unfetched = (): Promise<never> => Promise.reject(new Error("nothing is fetched here"));
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
export const hash = hashStepId;

export function engineFor(
  handler: (context: HandlerContext<unknown>) => unknown,
  options: Partial<EngineOptions> = {},
): Engine {
  const fn = client.createFunction({ id: "f", triggers: [] }, handler as never);
  return new Engine({ client, fn, inPlace: true, ...options });
}

export const opsOf = (result: { readonly body: Uint8Array }): Op[] => parse(result.body) as Op[];
export const jsonOf = (result: { readonly body: Uint8Array }): Record<string, unknown> =>
  parse(result.body) as Record<string, unknown>;
