/**
 * Answers the lease extensions of workers, many in one statement. Who may extend is `Ownership`'s question; whether it
 * is still the same dispatch, the store's.
 */
import { messageOf, readClocks } from "@holdfast/core";
import type { WorkerFrame } from "@holdfast/protocol";
import { type Fence, levelFor, qualify } from "@holdfast/store";
import type { DispatcherCounters, DispatcherOptions } from "../ports.ts";
import type { Functions } from "../registry/functions.ts";
import type { ConnectedWorker } from "./connected-worker.ts";
import type { Dispatches } from "./dispatches.ts";
import { isLeaseOld } from "./lease-age.ts";
import type { Ownership } from "./ownership.ts";
import { decideExtension } from "./plain-rules.ts";
import { parseRequestId } from "./request-id.ts";

export type ExtendLeaseFrame = Extract<WorkerFrame, { kind: "WORKER_REQUEST_EXTEND_LEASE" }>;

/** That are kept of what a worker says of one request. */
const MOST_STEPS = 10;

interface ExtensionRequest {
  readonly worker: ConnectedWorker;
  readonly frame: ExtendLeaseFrame;
}

interface GrantedRequest extends ExtensionRequest {
  readonly appId: string;
  readonly functionId: string;
  readonly fence: Fence;
}

/**
 * Lease extensions, batched: what came in while the last statement was under way is one statement. Valid is what the
 * queue still has under the same epoch, whichever gateway gave it out, and asked for with a lease id of the request.
 */
export class Leases {
  readonly #options: DispatcherOptions;
  readonly #dispatches: Dispatches;
  readonly #functions: Functions;
  readonly #ownership: Ownership;
  readonly #counters: DispatcherCounters;
  #pending: ExtensionRequest[] = [];
  #busy = false;

  constructor(
    options: DispatcherOptions,
    parts: { dispatches: Dispatches; functions: Functions; ownership: Ownership; counters: DispatcherCounters },
  ) {
    this.#options = options;
    this.#dispatches = parts.dispatches;
    this.#functions = parts.functions;
    this.#ownership = parts.ownership;
    this.#counters = parts.counters;
  }

  extend(worker: ConnectedWorker, frame: ExtendLeaseFrame): void {
    // It must not overtake the return of its request: it would be granted, and the work given out all the same.
    const releasing = this.#dispatches.releasing(frame.requestId);
    if (releasing) return void releasing.then(() => this.extend(worker, frame));
    this.#dispatches.recordExtensionAsked(frame.requestId);
    this.#pending.push({ worker, frame });
    if (this.#busy) return;
    this.#busy = true;
    setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    while (this.#pending.length > 0) {
      const batch = this.#pending;
      this.#pending = [];
      await this.#answerBatch(batch);
    }
    this.#busy = false;
  }

  async #answerBatch(batch: readonly ExtensionRequest[]): Promise<void> {
    const known = batch.flatMap((request) => {
      const fence = parseRequestId(request.frame.requestId);
      const appId = fence && this.#ownership.leaseholder(request.worker, request.frame);
      if (fence && appId !== undefined) {
        const functionId = qualify(request.worker.session.environment, request.frame.functionSlug);
        return this.#isAnswered(request) ? [] : [{ fence, appId, functionId, ...request }];
      }
      this.#refuseForeign(request);
      return [];
    });
    if (known.length === 0) return;
    const { clock, settings, store } = this.#options;
    try {
      const { gatewayId } = settings;
      const leases = known.map(({ fence, functionId, worker }) => {
        const limits = this.#functions.get(functionId)?.limits ?? null;
        const { leaseMs } = worker.session;
        return { gatewayId, leaseMs, functionId, limits, ...fence };
      });
      const leasedAt = readClocks(clock);
      const extended = await store.extendLeases(leases);
      for (const [index, request] of known.entries()) {
        // Granted so late it would say what was true then: the worker asks again.
        if (extended[index] && isLeaseOld(leasedAt, request.worker.session.leaseMs, clock)) continue;
        if (extended[index]) this.#grant(request);
        else this.#refuse(request, request.fence);
      }
    } catch (error) {
      // No answer: the worker asks again at its next interval.
      this.#options.log(levelFor(error, "warn"), `Lease extensions could not be stored: ${messageOf(error)}`);
    }
  }

  #grant({ worker, frame, appId, fence, functionId }: GrantedRequest): void {
    this.#counters.leasesExtended += 1;
    const dispatch = this.#dispatches.get(frame.requestId);
    const steps = (frame.runningSteps ?? []).slice(0, MOST_STEPS);
    if (dispatch) {
      this.#dispatches.acknowledge(dispatch, worker);
      dispatch.running = { steps, saidMs: this.#options.clock.monotonicMs() };
    } else {
      this.#dispatches.keepForeign(frame.requestId, worker);
      this.#dispatches.continued.extended(fence, functionId, worker, steps);
    }
    const runId = dispatch?.runId ?? frame.runId;
    const repeated = this.#repeated(frame, worker);
    if (repeated !== null) return send(worker, frame, repeated);
    const id = this.#dispatches.leaseId({ requestId: frame.requestId, runId }, appId, worker.session.leaseMs);
    if (dispatch) dispatch.lease = { id, before: frame.leaseId, instanceId: worker.session.instanceId };
    send(worker, frame, id);
  }

  /** A plain gateway looks at the lease id first. */
  #isAnswered({ worker, frame }: ExtensionRequest): boolean {
    const { settings, clock } = this.#options;
    const lease = this.#dispatches.get(frame.requestId)?.lease ?? null;
    if (!settings.plain || lease === null) return false;
    const { instanceId, isLimited } = worker.session;
    const result = decideExtension(lease, { leaseId: frame.leaseId, instanceId, isLimited }, clock.nowMs());
    // What is said once more has to be true once more: another worker may have the work by now.
    if (result !== "refuse") return false;
    this.#counters.leasesRefused += 1;
    send(worker, frame, undefined);
    return true;
  }

  /** The id that is given once more; null = it gets a new one. */
  #repeated({ requestId, leaseId }: ExtendLeaseFrame, { session }: ConnectedWorker): string | null {
    const { settings, clock } = this.#options;
    const lease = this.#dispatches.get(requestId)?.lease ?? null;
    if (!settings.plain || lease === null) return null;
    const { instanceId, isLimited } = session;
    return decideExtension(lease, { leaseId, instanceId, isLimited }, clock.nowMs()) === "repeat" ? lease.id : null;
  }

  /** Whose work it is keeps it. */
  #refuseForeign({ worker, frame }: ExtensionRequest): void {
    this.#counters.leasesRefused += 1;
    this.#ownership.recordRefusal(worker, "An extension", frame);
    send(worker, frame, undefined);
  }

  #refuse({ worker, frame }: ExtensionRequest, fence: Fence): void {
    this.#counters.leasesRefused += 1;
    this.#dispatches.continued.finish(fence);
    const dispatch = this.#dispatches.get(frame.requestId);
    if (dispatch) this.#dispatches.finish(dispatch);
    send(worker, frame, undefined);
  }
}

function send(worker: ConnectedWorker, frame: ExtendLeaseFrame, newLeaseId: string | undefined): void {
  const { requestId, accountId, envId, appId, functionSlug } = frame;
  worker.session.send({
    kind: "WORKER_REQUEST_EXTEND_LEASE_ACK",
    requestId,
    accountId,
    envId,
    appId,
    functionSlug,
    ...(newLeaseId === undefined ? {} : { newLeaseId }),
  });
}
