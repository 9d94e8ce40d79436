/**
 * What happens to a worker's requests when its socket breaks: a grace in which the same instance may come back, then
 * they are abandoned as lost.
 */
import { messageOf, type TimerHandle } from "@holdfast/core";
import type { DispatcherOptions } from "../ports.ts";
import type { ConnectedWorker, SocketEnd, WorkerSession } from "./connected-worker.ts";
import type { ContinuedRequest } from "./continued-requests.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Dispatches } from "./dispatches.ts";
import type { Workers } from "./workers.ts";

/**
 * Workers that come and go. When a socket breaks its requests keep their leases for a grace, in which the same instance
 * may come back and say that it still has them. What it has not spoken of by then is released as lost, which costs no
 * attempt. Workers of the plain protocol speak of a request only once per extension interval, so one that came back,
 * here or to another gateway, gets that long. One that fell silent may be computing where its heartbeats come from: it
 * keeps what it has until its lease ends, as at the reference.
 */
export class Presence {
  readonly #options: DispatcherOptions;
  readonly #workers: Workers;
  readonly #dispatches: Dispatches;
  readonly #timers = new Set<TimerHandle>();
  /** Graces under way. */
  #graces = 0;
  #onSettled: (() => void)[] = [];
  /** By instance that fell silent: what ends the wait for its return. */
  readonly #silent = new Map<string, Set<() => void>>();

  constructor(options: DispatcherOptions, workers: Workers, dispatches: Dispatches) {
    this.#options = options;
    this.#workers = workers;
    this.#dispatches = dispatches;
  }

  /** After a shutdown nothing is waited for. */
  onWorkerLost(worker: ConnectedWorker, how: SocketEnd): void {
    const final = how === "shutdown";
    const dispatches = [...worker.requests].flatMap((requestId) => this.#dispatches.get(requestId) ?? []);
    this.#workers.remove(worker);
    const continued = this.#dispatches.continued.onWorkerLost(worker);
    for (const dispatch of dispatches) this.#dispatches.detach(dispatch);
    if (this.#options.settings.plain) return this.#awaitLeaseEnds(dispatches, worker.session);
    this.#releaseContinued(continued, worker.session, final);
    // What was not sent yet is with no worker.
    const hasNoWorker = ({ sentMs }: Dispatch): boolean => final || sentMs === null;
    const free = dispatches.filter(hasNoWorker);
    if (free.length > 0) this.#dispatches.abandon(free, () => false);
    const sent = dispatches.filter((dispatch) => !hasNoWorker(dispatch));
    const lostMs = this.#options.clock.monotonicMs();
    for (const dispatch of sent) dispatch.lostMs = lostMs;
    const mayCompute = how === "silent" && !worker.session.extensions.has("checkpoint");
    const begun = mayCompute ? sent.filter(({ acked }) => acked) : [];
    if (begun.length > 0)
      this.#awaitReturn(worker.session, lostMs, () => this.#endGrace(begun, worker.session, lostMs));
    const others = mayCompute ? sent.filter(({ acked }) => !acked) : sent;
    if (others.length > 0) this.#beginGrace(() => this.#endGrace(others, worker.session, lostMs));
  }

  #beginGrace(end: () => Promise<void>): void {
    this.#graces += 1;
    this.#after(this.#options.settings.reconnectGraceMs, () => {
      void end().finally(() => {
        this.#graces -= 1;
        if (this.#graces === 0) for (const resolve of this.#onSettled.splice(0)) resolve();
      });
    });
  }

  /** An instance has a connection. What one of its name had when it fell silent it extends from now on, or it is lost. */
  onWorkerConnected({ instanceId }: WorkerSession): void {
    for (const end of this.#silent.get(instanceId) ?? []) end();
  }

  /** At most until its lease ends. Who ends this gateway does not wait for it: the lease is in the store. */
  #awaitReturn({ instanceId, leaseMs, seenMs }: WorkerSession, lostMs: number, end: () => Promise<void>): void {
    const mostMs = Math.max(this.#options.settings.reconnectGraceMs, leaseMs - (lostMs - seenMs));
    const waits = this.#silent.get(instanceId) ?? new Set();
    const over = (): void => {
      timer.cancel();
      this.#timers.delete(timer);
      waits.delete(over);
      if (waits.size === 0) this.#silent.delete(instanceId);
      void end();
    };
    const timer = this.#after(mostMs, over);
    this.#silent.set(instanceId, waits.add(over));
  }

  /** Of requests that this gateway did not give out nothing else is known: who goes on with them says so in the grace. */
  #releaseContinued(continued: readonly ContinuedRequest[], { extensions }: WorkerSession, final: boolean): void {
    if (continued.length === 0 || !extensions.has("checkpoint")) return;
    const heldBy = this.#options.settings.gatewayId;
    const release = (): void => {
      const lost = continued.filter((request) => this.#dispatches.continued.isLost(request));
      this.#dispatches.release(lost.map(({ fence }) => ({ ...fence, lost: !final, heldBy })));
    };
    if (final) release();
    else this.#after(this.#options.settings.reconnectGraceMs, release);
  }

  /** Resolves when no grace is under way: who went to another gateway has had the time to say so there. */
  whenSettled(): Promise<void> {
    return this.#graces === 0 ? Promise.resolve() : new Promise((resolve) => this.#onSettled.push(resolve));
  }

  /**
   * As at the reference: a socket that ends, however it does, ends no lease. What was not acknowledged is sent to
   * another worker; the rest may be extended from any connection, and has failed when its lease has ended.
   */
  #awaitLeaseEnds(dispatches: readonly Dispatch[], { leaseMs }: WorkerSession): void {
    this.#dispatches.reroute(dispatches.filter(({ acked }) => !acked));
    const acked = dispatches.filter((dispatch) => dispatch.acked);
    const lostMs = this.#options.clock.monotonicMs();
    for (const dispatch of acked) dispatch.lostMs = lostMs;
    const dropOrphans = (): void => {
      const orphans = acked.filter((one) => one.lostMs === lostMs && one.worker === null);
      for (const dispatch of orphans) if (dispatch.lastHeardMs <= lostMs) this.#dispatches.finish(dispatch);
    };
    if (acked.length > 0) this.#after(2 * leaseMs, dropOrphans);
  }

  async #endGrace(dispatches: readonly Dispatch[], session: WorkerSession, lostMs: number): Promise<void> {
    const isOurs = (one: Dispatch): boolean => one.lostMs === lostMs && this.#dispatches.get(one.requestId) === one;
    const orphans = dispatches.filter((one) => one.worker === null && isOurs(one));
    if (orphans.length === 0) return;
    const back = this.#plainReturn(session.instanceId);
    const elsewhere = !back && !session.extensions.has("checkpoint") && (await this.#isElsewhere(session.instanceId));
    if (!back && !elsewhere) {
      this.#abandon(orphans.filter((one) => one.worker === null && isOurs(one)));
      return;
    }
    if (back) for (const dispatch of orphans) this.#dispatches.move(dispatch, back);
    else for (const dispatch of orphans) dispatch.elsewhere = true;
    this.#after((back?.session ?? session).extendLeaseMs, () => {
      this.#abandon(orphans.filter((one) => isOurs(one) && one.lastHeardMs <= lostMs));
    });
  }

  async #isElsewhere(instanceId: string): Promise<boolean> {
    const { store, settings, log } = this.#options;
    try {
      return (await store.listConnections({ instanceId, exceptGatewayId: settings.gatewayId })).length > 0;
    } catch (error) {
      log("debug", `The list of connections could not be read: ${messageOf(error)}`);
      return false;
    }
  }

  /** A session of the same instance that extends leases only at its interval. */
  #plainReturn(instanceId: string): ConnectedWorker | undefined {
    for (const worker of this.#workers.ofInstance(instanceId)) {
      if (!worker.session.extensions.has("checkpoint")) return worker;
    }
    return undefined;
  }

  #abandon(dispatches: readonly Dispatch[]): void {
    if (dispatches.length === 0) return;
    this.#dispatches.abandon(
      dispatches,
      (dispatch) => dispatch.acked,
      (count) => {
        this.#options.log("warn", `${count} request(s) were lost with their worker; they are handed out again.`);
      },
    );
  }

  stop(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #after(delayMs: number, fire: () => void): TimerHandle {
    const timer = this.#options.timers.set(
      delayMs,
      () => {
        this.#timers.delete(timer);
        fire();
      },
      { unref: true },
    );
    this.#timers.add(timer);
    return timer;
  }
}
