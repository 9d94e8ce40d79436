/**
 * The half of an app that only talks to a gateway over HTTP: it sends events and signals and reads runs. `Holdfast` adds
 * functions and the connection; `holdfast/client` has this half alone, for processes that run no functions.
 */
import { callApi, type GatewayAnswer, type GatewayRequest } from "../events/call-api.ts";
import type { CheckedOutgoings, NoSchemas, OutgoingEvent, SchemaMap } from "../events/event-types.ts";
import { checkFilter, fetchRun, fetchRuns, type Run, type RunFilter, type RunPage } from "../events/runs.ts";
import { sendDouble } from "../events/send-double.ts";
import { eventList, type SentEvents, sendEvents } from "../events/send-events.ts";
import { type FetchLike, type SendPorts, sendPorts } from "../events/send-http.ts";
import { type OutgoingSignal, type SentSignal, sendSignal } from "../events/send-signal.ts";
import type { ResolvedClientOptions } from "../functions/app-client.ts";
import type { Environment } from "../options.ts";
import { type InvocationArgs, invokeRun } from "../runs/invoke-run.ts";
import { type InvokedRun, runHandle } from "../runs/run-handle.ts";
import { type ResultOf, Runs, type RunsApi } from "../runs/runs-api.ts";
import type { InvokeTarget } from "../steps/references.ts";
import type { ClientOptions } from "./client-options.ts";
import { resolveClientOptions } from "./resolve-client-options.ts";

/**
 * Sends events and signals, and reads runs. It runs no functions; `Holdfast` does.
 *
 *     const client = new HoldfastClient({ id: "shop-web" });
 */
export class HoldfastClient<const Schemas extends SchemaMap = NoSchemas> {
  /** What the options and the environment came to. */
  readonly options: ResolvedClientOptions;
  readonly schemas: Schemas | undefined;
  /** The option. */
  readonly fetch: FetchLike | undefined;
  #runs: Runs | undefined;

  /** @throws HoldfastError `OPTION_INVALID`, `OPTION_MISSING` */
  constructor(options: ClientOptions<Schemas>, env: Environment = globalThis.process?.env ?? {}) {
    this.options = resolveClientOptions(options, env);
    this.schemas = options.schemas;
    this.fetch = options.fetch;
  }

  get id(): string {
    return this.options.id;
  }

  /**
   * Sends one event or several in one request.
   * @throws HoldfastError `EVENT_INVALID`, `EVENT_SEND_FAILED`, `OPTION_MISSING`; `ENVIRONMENT_REFUSED` for a key of another
   * environment
   */
  async send<const Events extends OutgoingEvent | readonly OutgoingEvent[]>(
    events: CheckedOutgoings<Events, Schemas>,
  ): Promise<SentEvents> {
    return this.sendEvents(eventList(events));
  }

  /**
   * Sends a signal to the run that waits for it; `runId` is absent when none does.
   * @throws HoldfastError `SIGNAL_SEND_FAILED`, `OPTION_INVALID`; the gateway's code of what it refuses, such as
   *   `GRAPH_ANSWER_INVALID`
   */
  sendSignal(signal: OutgoingSignal): Promise<SentSignal> {
    return sendDouble()?.signal(signal) ?? sendSignal(this.options, signal, this.#ports());
  }

  /** `send` for callers whose events are typed elsewhere. */
  sendEvents(events: readonly OutgoingEvent[]): Promise<SentEvents> {
    const { options, schemas } = this;
    return sendDouble()?.events(events, schemas) ?? sendEvents(options, schemas, events, this.#ports());
  }

  /**
   * Starts a run of one function and gives its handle:
   *
   *     const run = await app.invoke(order, { data: { item: 7 }, id: "order-7" });
   *     const receipt = await run.result({ timeout: "30s" });
   *
   * `id` makes it idempotent: the same id again, within 30 days, is the same run. The function is named by itself, by
   * `referenceFunction`, or as text: `app.invoke<typeof order>("shop-order")`. Holdfast's gateway only.
   *
   * @throws HoldfastError `OPTION_INVALID`, `EVENT_INVALID`, `RUN_START_FAILED`; the gateway's code of what it
   *   refuses, such as `NOT_FOUND`
   * @throws RunNotStartedError when `rateLimit`, `idempotency` or `singleton` of the function skips the run
   *   (`RUN_SKIPPED`), or `debounce` or `batchEvents` puts it off (`RUN_POSTPONED`)
   */
  async invoke<Target extends InvokeTarget>(
    target: Target | string,
    ...[options]: InvocationArgs<Target>
  ): Promise<InvokedRun<ResultOf<Target>>> {
    const ports = this.#ports();
    const { runId, ...rest } = await invokeRun(this.options, target, options, ports);
    return { ...runHandle<ResultOf<Target>>(this.options, runId, ports, { isKnown: true }), ...rest };
  }

  /** Runs by their ids and in lists: `app.runs.get(id)`, `app.runs.list({ status: "FAILED" })`. */
  get runs(): RunsApi {
    this.#runs ??= new Runs(this.options, () => this.#ports());
    return this.#runs;
  }

  /**
   * A run as it is now; undefined when the gateway knows none of this id. Holdfast's gateway only.
   * @throws HoldfastError `RUNS_UNAVAILABLE`
   */
  getRun(runId: string): Promise<Run | undefined> {
    return fetchRun(this.options, runId, this.#ports());
  }

  /**
   * Runs, newest first, for example those that an event has started: `listRuns({ eventId })`. Holdfast's gateway only.
   * @throws HoldfastError `OPTION_INVALID`, `RUNS_UNAVAILABLE`; the gateway's code of what it refuses, such as
   *   `NOT_FOUND` for a function that there is not
   */
  async listRuns(filter: RunFilter = {}): Promise<RunPage> {
    checkFilter("listRuns()", filter);
    return fetchRuns(this.options, filter, this.#ports());
  }

  /**
   * Calls a path of the gateway's HTTP API (`v1/graphs`), with the keys of this app; for packages that build on this
   * one. Tried again after network errors and answers 5xx and 429; any other answer is given as it is.
   * @throws HoldfastError `GATEWAY_CALL_FAILED`, `OPTION_INVALID` where the body is no JSON
   */
  call(path: string, request: GatewayRequest = {}): Promise<GatewayAnswer> {
    return callApi(this.options, path, request, this.#ports());
  }

  #ports(): SendPorts {
    return sendPorts(this.fetch);
  }
}
