/**
 * Listeners to what a connection does: the callbacks `onStateChange` and `onStall` of the app, and the channels
 * `holdfast:state`, `holdfast:stall` and `holdfast:lease`. None of them is waited for, and none that throws harms
 * anything.
 */
import { type Clock, type Log, messageOf } from "@holdfast/core";
import type { LeaseMessage } from "../../diagnostics/channels.ts";
import { channels } from "../../diagnostics/publisher.ts";
import type { ConnectOptions } from "../shared/connect-options.ts";
import type { ConnectionState, StateChange } from "../shared/debug-state.ts";
import type { StallMessage, StallReport } from "../shared/stall.ts";

/** Callbacks of the app. */
export type ConnectionCallbacks = Pick<ConnectOptions, "onStateChange" | "onStall">;

export interface ListenersDeps {
  readonly instanceId: string;
  readonly callbacks: ConnectionCallbacks;
  readonly clock: Clock;
  readonly log: Log;
}

/** Whose lease it is. */
export type LeaseSubject = Pick<LeaseMessage, "requestId" | "runId" | "functionSlug">;

/** States that say nothing of a problem. */
const SOUND: ReadonlySet<ConnectionState> = new Set(["ACTIVE", "CLOSING", "CLOSED"]);

/**
 * Calls them later in the same turn, in order: what they do, such as closing the connection, must not happen while the
 * event is still being handled.
 */
export class Listeners {
  readonly #deps: ListenersDeps;

  constructor(deps: ListenersDeps) {
    this.#deps = deps;
  }

  /** `now` is read when they are called: the id comes with a message after that of the state. */
  onStateChange(
    from: ConnectionState,
    to: ConnectionState,
    now: () => { readonly connectionId: string | null; readonly problem: string },
  ): void {
    const { instanceId, callbacks, clock } = this.#deps;
    if (callbacks.onStateChange === undefined && !channels.state.isHeard) return;
    const atMs = clock.nowMs();
    queueMicrotask(() => {
      const { connectionId, problem } = now();
      const last = SOUND.has(to) || problem === "" ? null : problem;
      const change: StateChange = { instanceId, from, to, connectionId, problem: last, atMs };
      this.#call("onStateChange", callbacks.onStateChange, change);
      if (channels.state.isHeard) channels.state.publish(change);
    });
  }

  onStall(report: StallReport): void {
    const { instanceId, callbacks } = this.#deps;
    if (callbacks.onStall === undefined && !channels.stall.isHeard) return;
    const stall: StallMessage = { instanceId, ...report };
    queueMicrotask(() => {
      this.#call("onStall", callbacks.onStall, stall);
      if (channels.stall.isHeard) channels.stall.publish(stall);
    });
  }

  /** Asked before a message about a lease is made: there are many. */
  get hearsLeases(): boolean {
    return channels.lease.isHeard;
  }

  onLease(type: LeaseMessage["type"], subject: LeaseSubject, leaseId: string | null): void {
    const { instanceId, clock } = this.#deps;
    const { requestId, runId, functionSlug } = subject;
    const message = { instanceId, requestId, runId, functionSlug, type, leaseId, atMs: clock.nowMs() };
    queueMicrotask(() => channels.lease.publish(message));
  }

  #call<Message>(name: string, callback: ((message: Message) => unknown) | undefined, message: Message): void {
    const report = (thrown: unknown): void =>
      this.#deps.log("error", `The callback ${name} failed: ${messageOf(thrown)}`, {
        code: "LISTENER_FAILED",
        ...(thrown instanceof Error && thrown.stack !== undefined ? { stack: thrown.stack } : {}),
      });
    try {
      const returned: unknown = callback?.(message);
      // An asynchronous one may fail later.
      if (typeof returned === "object" && returned !== null) Promise.resolve(returned).catch(report);
    } catch (thrown) {
      report(thrown);
    }
  }
}
