/** `app.runs`: runs by their ids, of whatever started them. */
import { type FollowFilter, type FollowOptions, followRuns } from "../events/follow-runs.ts";
import type { GatewayAccess } from "../events/gateway-access.ts";
import type { RunEvent } from "../events/run-events.ts";
import {
  cancelRun,
  checkFilter,
  deleteRun,
  fetchRun,
  fetchRuns,
  holdRun,
  type Run,
  type RunFilter,
  type RunPage,
  releaseRun,
  repairRun,
  retryCompensations,
} from "../events/runs.ts";
import type { SendPorts } from "../events/send-http.ts";
import { type InstantLike, instantOf } from "../steps/points-in-time.ts";
import type { OutputOf } from "../steps/references.ts";
import type { InvokeResult } from "../steps/step-types.ts";
import { newRunId } from "./new-run-id.ts";
import { type RunHandle, runHandle } from "./run-handle.ts";

/** Which runs to list. */
export interface ListRunsOptions extends Omit<RunFilter, "after" | "before"> {
  /**
   * Created at this time or later.
   * @example after: new Date("2027-01-31T00:00:00Z")
   */
  readonly after?: InstantLike | number;
  /**
   * Created before this time.
   * @example before: Date.now()
   */
  readonly before?: InstantLike | number;
}

/** The version of its app with which a run continues. */
export interface RepairOptions {
  /**
   * "newest" (default), "same" (the one that the run had), or a version of the app.
   * @example appVersion: "same"
   */
  readonly appVersion?: string;
}

export interface ForkOptions extends RepairOptions {
  /**
   * The result to use for the step instead of running it again: JSON.
   * @example result: { id: 7 }
   */
  readonly result?: unknown;
}

/** What a run of the function comes to, as JSON has it: nothing is null. */
export type ResultOf<Target> = InvokeResult<Awaited<OutputOf<Target>>>;

/** Pages that may be asked for, for one that is full. */
const MAX_PAGES = 1_000;

/** The runs of an environment. Holdfast's gateway only. */
export interface RunsApi {
  /**
   * A run as it is now; undefined when there is none of this id.
   * @throws HoldfastError `RUNS_UNAVAILABLE`
   */
  get(runId: string): Promise<Run | undefined>;
  /**
   * Runs, newest first: `runs.list({ functionId: "shop-order", status: "FAILED" })`.
   * @throws HoldfastError `OPTION_INVALID`, `RUNS_UNAVAILABLE`; the gateway's code of what it refuses, such as
   *   `NOT_FOUND` for a function that there is not, or `BODY_INVALID`
   */
  list(options?: ListRunsOptions): Promise<RunPage>;
  /**
   * Cancels a run; false when it had ended already.
   * @throws HoldfastError `NOT_FOUND`, `RUNS_UNAVAILABLE`
   */
  cancel(runId: string): Promise<boolean>;
  /**
   * Makes a new run of the same events; its id.
   * @throws HoldfastError the gateway's code of what it refuses, such as `NOT_FOUND`; `RUNS_UNAVAILABLE`
   */
  rerun(runId: string, options?: RepairOptions): Promise<string>;
  /**
   * Makes a new run that keeps what had ended before a step, and goes on from there; its id. With `result` the step is
   * not done again either, and gives that: `runs.fork(id, "load", { result: { id: 7 } })`.
   * @throws HoldfastError the gateway's code of what it refuses, such as `NOT_FOUND`; `RUNS_UNAVAILABLE`
   */
  fork(runId: string, step: string, options?: ForkOptions): Promise<string>;
  /**
   * Lets a run that failed or was cancelled go on: finished steps stay, what failed gets new attempts.
   * @throws HoldfastError the gateway's code of what it refuses, such as `NOT_FOUND`; `RUNS_UNAVAILABLE`
   */
  resume(runId: string, options?: RepairOptions): Promise<void>;
  /**
   * Deletes a run that has ended, or with `cancel` any; false when there is none of this id.
   * @throws HoldfastError the gateway's code of what it refuses, such as `NOT_FOUND`; `RUNS_UNAVAILABLE`
   */
  delete(runId: string, options?: { readonly cancel?: boolean }): Promise<boolean>;
  /**
   * Keeps a run, with log and event, whatever its age, until it is released.
   * @throws HoldfastError the gateway's code of what it refuses, such as `NOT_FOUND`; `RUNS_UNAVAILABLE`
   */
  hold(runId: string, reason?: string): Promise<void>;
  /**
   * Releases a run: it goes when its time is over. False: it was not on hold.
   * @throws HoldfastError the gateway's code of what it refuses, such as `NOT_FOUND`; `RUNS_UNAVAILABLE`
   */
  release(runId: string): Promise<boolean>;
  /**
   * Makes a failed run try again what it could not undo. False: there was nothing to undo, or it was cancelled: cancelled
   * runs are not undone.
   * @throws HoldfastError the gateway's code of what it refuses, such as `NOT_FOUND`; `RUNS_UNAVAILABLE`
   */
  retryCompensations(runId: string): Promise<boolean>;
  /** The handle of a run: `await app.runs.handle<typeof order>(id).result()`. */
  handle<Target = unknown>(runId: string): RunHandle<ResultOf<Target>>;
  /**
   * What happens to runs, as it happens: of one until it has ended, of all or those of a function until `signal` fires.
   * @throws HoldfastError `NOT_FOUND`, `RUNS_UNAVAILABLE`
   */
  follow(target?: string | FollowFilter, options?: FollowOptions): AsyncGenerator<RunEvent, void>;
}

export class Runs implements RunsApi {
  readonly #access: GatewayAccess;
  readonly #ports: () => SendPorts;

  constructor(access: GatewayAccess, ports: () => SendPorts) {
    this.#access = access;
    this.#ports = ports;
  }

  get(runId: string): Promise<Run | undefined> {
    return fetchRun(this.#access, runId, this.#ports());
  }

  async list(options: ListRunsOptions = {}): Promise<RunPage> {
    const { after, before, ...filter } = options ?? {};
    checkFilter("runs.list()", options);
    const wanted = filter.limit ?? 50;
    const times = { ...timeOf("after", after), ...timeOf("before", before) };
    const runs: Run[] = [];
    let { cursor } = filter;
    // Where runs that fit are rare a gateway answers with what it has found in a while.
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const rest = { ...filter, ...times, limit: wanted - runs.length, ...(cursor === undefined ? {} : { cursor }) };
      const page = await fetchRuns(this.#access, rest, this.#ports());
      runs.push(...page.runs);
      cursor = page.nextCursor;
      if (cursor === undefined) return { runs };
      if (runs.length >= wanted) break;
    }
    return cursor === undefined ? { runs } : { runs, nextCursor: cursor };
  }

  cancel(runId: string): Promise<boolean> {
    return cancelRun(this.#access, runId, this.#ports());
  }

  rerun(runId: string, options: RepairOptions = {}): Promise<string> {
    const body = { ...options, newRunId: newRunId(this.#ports()) };
    return repairRun(this.#access, { runId, verb: "rerun", body }, this.#ports());
  }

  fork(runId: string, step: string, options: ForkOptions = {}): Promise<string> {
    const body = { step, ...options, newRunId: newRunId(this.#ports()) };
    return repairRun(this.#access, { runId, verb: "fork", body }, this.#ports());
  }

  async resume(runId: string, options: RepairOptions = {}): Promise<void> {
    await repairRun(this.#access, { runId, verb: "resume", body: options }, this.#ports());
  }

  delete(runId: string, { cancel = false }: { readonly cancel?: boolean } = {}): Promise<boolean> {
    return deleteRun(this.#access, runId, { cancel }, this.#ports());
  }

  hold(runId: string, reason = ""): Promise<void> {
    return holdRun(this.#access, runId, reason, this.#ports());
  }

  release(runId: string): Promise<boolean> {
    return releaseRun(this.#access, runId, this.#ports());
  }

  retryCompensations(runId: string): Promise<boolean> {
    return retryCompensations(this.#access, runId, this.#ports());
  }

  handle<Target = unknown>(runId: string): RunHandle<ResultOf<Target>> {
    return runHandle(this.#access, runId, this.#ports());
  }

  follow(target: string | FollowFilter = {}, options: FollowOptions = {}): AsyncGenerator<RunEvent, void> {
    const which = typeof target === "string" ? { runId: target } : target;
    return followRuns(this.#access, which, options, this.#ports());
  }
}

function timeOf(
  name: "after" | "before",
  value: InstantLike | number | undefined,
): Pick<RunFilter, "after" | "before"> {
  if (value === undefined) return {};
  return { [name]: typeof value === "number" ? value : (instantOf(value) ?? String(value)) };
}
