/** `operate(app).functions`: which functions there are, and pauses of them. */
import { functionNameOf } from "../runs/function-name.ts";
import type { InvokeTarget } from "../steps/references.ts";
import { callFor, callGatewayApi, type OperatedClient, segment } from "./call-gateway.ts";

/** Since when nothing of a function is handed out, and why. */
export interface FunctionPause {
  readonly sinceAt: string;
  readonly sinceMs: number;
  readonly note: string | null;
}

/** A function as the gateway knows it: what its newest deployment says. */
export interface FunctionInfo {
  /** `<app>-<function>`. */
  readonly id: string;
  readonly uuid: string;
  readonly appId: string;
  /** False: the newest deployment of its app does not have it. */
  readonly active: boolean;
  readonly appVersion: string;
  /** Those that have it, the newest first. */
  readonly versions: readonly string[];
  readonly queue: string;
  readonly triggers: readonly Readonly<Record<string, unknown>>[];
  readonly maxAttempts: number;
  readonly paused: boolean;
  /** Null: it is not paused. */
  readonly pause: FunctionPause | null;
}

export interface PauseOptions {
  /**
   * The reason; it is shown for runs that wait.
   * @example note: "the bank is down"
   */
  readonly note?: string;
}

/** What came of a pause, or of its end. */
export interface PausedFunction {
  readonly functionId: string;
  /** False: it was so before. */
  readonly changed: boolean;
  /** Null: it is not paused. */
  readonly pause: FunctionPause | null;
}

/** The functions of the client's environment. A function is named by itself, by a reference, or as text. */
export interface FunctionsApi {
  /**
   * All functions of all apps that have connected.
   * @throws HoldfastError `GATEWAY_UNREACHABLE`, `UNAUTHORIZED`
   */
  list(): Promise<readonly FunctionInfo[]>;
  /**
   * One of them; undefined when there is none of this name.
   * @throws HoldfastError `GATEWAY_UNREACHABLE`, `UNAUTHORIZED`
   */
  get(target: InvokeTarget | string): Promise<FunctionInfo | undefined>;
  /**
   * Hands out nothing of a function until it is resumed. What a worker has goes on to the end of its pass; events still
   * start runs, which wait and say why.
   * @throws HoldfastError `NOT_FOUND`, `GATEWAY_UNREACHABLE`, `UNAUTHORIZED`
   */
  pause(target: InvokeTarget | string, options?: PauseOptions): Promise<PausedFunction>;
  /**
   * Hands out work of a paused function again.
   * @throws HoldfastError `NOT_FOUND`, `GATEWAY_UNREACHABLE`, `UNAUTHORIZED`
   */
  resume(target: InvokeTarget | string): Promise<PausedFunction>;
}

export function functionsApi(client: OperatedClient): FunctionsApi {
  const pathOf = (target: unknown, verb = ""): string =>
    `v1/functions/${segment(functionNameOf(target, client.options.id))}${verb}`;
  return {
    async list() {
      const { functions } = await callFor<{ functions: readonly FunctionInfo[] }>(client, { path: "v1/functions" });
      return functions;
    },
    async get(target) {
      return (await callGatewayApi<FunctionInfo>(client, { path: pathOf(target) }, true)) ?? undefined;
    },
    pause: (target, { note } = {}) =>
      callFor(client, { path: pathOf(target, "/pause"), body: note === undefined ? {} : { note } }),
    resume: (target) => callFor(client, { path: pathOf(target, "/resume"), body: {} }),
  };
}
