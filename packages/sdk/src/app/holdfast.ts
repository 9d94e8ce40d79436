/** `Holdfast`, the class that users create: the client of `client.ts` with functions and a connection on top. */
import { connect } from "../connection/main/connect.ts";
import type { Connection } from "../connection/main/connection.ts";
import type { ConnectOptions } from "../connection/shared/connect-options.ts";
import type { NoSchemas, SchemaMap } from "../events/event-types.ts";
import { type FetchedRunState, fetchRunState } from "../events/run-state.ts";
import { sendPorts } from "../events/send-http.ts";
import type { DataOfTriggers, EventOfTriggers, TriggerInput } from "../events/triggers.ts";
import {
  defineFunction,
  type FailureHandler,
  type Handler,
  type HoldfastFunction,
} from "../functions/define-function.ts";
import type { FunctionOptions } from "../functions/function-options.ts";
import { checkOptions } from "../functions/inngest-options.ts";
import { checkInvocationData } from "../functions/invocation-data.ts";
import type { IsolateOption } from "../functions/isolate-option.ts";
import { type Environment, variableRead } from "../options.ts";
import type { InvocationArgs } from "../runs/invoke-run.ts";
import type { InvokedRun } from "../runs/run-handle.ts";
import type { ResultOf } from "../runs/runs-api.ts";
import type { InvokeTarget } from "../steps/references.ts";
import { HoldfastClient } from "./client.ts";
import { CLIENT_OPTIONS } from "./client-option-table.ts";
import type { ClientOptions } from "./client-options.ts";

type CreateOptions<Triggers, Schemas extends SchemaMap> = FunctionOptions<Triggers> & {
  /** Called once when a run has failed permanently; a function of its own, with steps and retries. */
  readonly onFailure?: FailureHandler<EventOfTriggers<Triggers, Schemas>, Schemas>;
};

/**
 * An app: where its functions are defined, its events are sent from, and its connection is made.
 *
 *     const holdfast = new Holdfast({ id: "my-app" });
 */
export class Holdfast<const Schemas extends SchemaMap = NoSchemas> extends HoldfastClient<Schemas> {
  /** The variable that names the environment, where `env` does not: `BRANCH`, say. */
  readonly envVariable: string | undefined;

  /** @throws HoldfastError `OPTION_INVALID`, `OPTION_MISSING` */
  constructor(options: ClientOptions<Schemas>, env: Environment = globalThis.process?.env ?? {}) {
    // `holdfast/client` is to be small: it does not look for the option that was meant, and knows none of `inngest`.
    if (typeof options === "object" && options !== null) {
      checkOptions("The client", options, Object.keys(CLIENT_OPTIONS));
    }
    super(options, env);
    this.envVariable = options.env === undefined ? variableRead(CLIENT_OPTIONS.env.variables, env) : undefined;
  }

  /**
   * Defines a function whose handler is the export of a module; it runs in a pool thread.
   * @throws HoldfastError `FUNCTION_INVALID`, `ISOLATE_MODULE_INVALID`
   */
  createFunction<const Triggers extends TriggerInput | readonly TriggerInput[] = readonly [], Output = unknown>(
    options: CreateOptions<Triggers, Schemas> & { readonly isolate: IsolateOption },
  ): HoldfastFunction<DataOfTriggers<Triggers, Schemas>, Output>;
  /**
   * Defines a function; `connect` brings it to life.
   * @throws HoldfastError `FUNCTION_INVALID`
   */
  createFunction<const Triggers extends TriggerInput | readonly TriggerInput[] = readonly [], Output = unknown>(
    options: CreateOptions<Triggers, Schemas> & { readonly isolate?: undefined },
    handler: Handler<EventOfTriggers<Triggers, Schemas>, Schemas, Output>,
  ): HoldfastFunction<DataOfTriggers<Triggers, Schemas>, Output>;
  createFunction(options: object, handler?: unknown): HoldfastFunction {
    return defineFunction(this, options as FunctionOptions, handler);
  }

  /**
   * Connects this app alone; `connect({ apps })` connects several over one connection. Resolves when it is ready.
   * @throws HoldfastError `OPTION_INVALID`, `OPTION_MISSING`, `FUNCTION_DUPLICATE`, `CONNECT_TIMEOUT`, `CONNECT_REFUSED`
   */
  connect(options: { readonly functions: readonly HoldfastFunction[] } & ConnectOptions): Promise<Connection> {
    // What untyped callers leave out is reported by the checks behind this.
    const { functions, ...rest } = (options ?? {}) as typeof options;
    return connect({ ...rest, apps: [{ client: this, functions }] });
  }

  // Here and not at the client: `holdfast/client` is to be small, and has no functions.
  override async invoke<Target extends InvokeTarget>(
    target: Target | string,
    ...args: InvocationArgs<Target>
  ): Promise<InvokedRun<ResultOf<Target>>> {
    await checkInvocationData(target, args[0]);
    return super.invoke(target, ...args);
  }

  /**
   * What a request leaves out that is too large for one frame; for `connect`.
   * @throws HoldfastError `RUN_STATE_UNAVAILABLE`
   */
  fetchRunState(runId: string, signal: AbortSignal): Promise<FetchedRunState> {
    return fetchRunState(this.options, runId, sendPorts(this.fetch), signal);
  }
}
