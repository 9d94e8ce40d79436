/**
 * The connection thread once it has its INIT: takes main's messages and carries out the effects that its parts emit,
 * in one switch (docs/decisions/0051). `thread-parts.ts` makes the parts, `run-thread.ts` the thread around it.
 */
import { unreachable } from "@holdfast/core";
import { type ConnectionReady, type StartResponse, WORKER_FALLBACK_INTERVALS } from "@holdfast/protocol";
import { parseIntervalMs } from "../machines/intervals.ts";
import type { ConnectionState } from "../shared/debug-state.ts";
import type { InitMessage, MainMessage } from "../shared/messages.ts";
import { stateOf } from "./debug-mirror.ts";
import type { MainPort } from "./main-port.ts";
import { stallFrame } from "./stall-frame.ts";
import { type SeenByClocks, suspensionText } from "./suspension-text.ts";
import type { ThreadEffect } from "./thread-effect.ts";
import { createThreadParts, type ThreadParts, type ThreadPorts } from "./thread-parts.ts";

export interface ThreadLife {
  /** Makes sure that what was sent leaves. */
  readonly scheduleFlush: () => void;
  readonly end: () => void;
}

/** A connection thread between INIT and its end. Its parts emit what follows from what they see; `#apply` carries it out. */
export class ConnectionThread {
  readonly #port: MainPort;
  readonly #parts: ThreadParts;
  readonly #life: ThreadLife;
  #state: ConnectionState = "CONNECTING";

  constructor(init: InitMessage, port: MainPort, outside: ThreadPorts, life: ThreadLife) {
    this.#port = port;
    this.#life = life;
    this.#parts = createThreadParts(init, port, outside, life.scheduleFlush, (effect) => this.#apply(effect));
    this.#parts.requests.adopt(init.adopted);
  }

  /** The end of a turn, before main's messages leave. */
  prepareFlush(): void {
    this.#parts.isolated.prepareFlush();
  }

  /** Lets what was sent in this turn go, now that main's messages have left. */
  flushSends(): void {
    this.#parts.isolated.flush();
    this.#parts.link.flushSends();
  }

  onMessage(message: Exclude<MainMessage, InitMessage>): void {
    const { closing, isolated, link, suspensions, requests, stalls } = this.#parts;
    suspensions.check();
    // A main that was blocked and closes now is responsive again, but is to get no work any more: the end first.
    if (message.type === "CLOSE") closing.begin(message.drainMs);
    stalls.onMainMessage();
    switch (message.type) {
      case "CLOSE":
        return;
      case "CONNECT":
        return link.connect(message.resumed);
      case "EXECUTION_RESPONSE":
      case "EXECUTION_ERROR":
      case "EXECUTION_DROPPED":
      case "CHECKPOINT":
      case "LEASE_WANTED":
      case "STEPS_RUNNING":
        return requests.onMainMessage(message);
      case "POOL_THREAD_STARTED":
        return isolated.onThreadStarted(message);
      case "POOL_THREAD_LOST":
        return isolated.onThreadLost(message.slot, message.error);
      default:
        return unreachable(message);
    }
  }

  /** The one place that says what follows in this thread. */
  #apply(effect: ThreadEffect): void {
    const { closing, coalescing, link, logger, mirror, suspensions, requests } = this.#parts;
    switch (effect.do) {
      case "THREAD_SUSPENDED":
        return this.#onSuspended(effect);
      case "LINK_UP":
        return this.#linkUp(effect.ready, effect.start);
      case "LINK_DOWN":
        this.#parts.reports.stop();
        return requests.onLinkDown();
      case "WORK_FRAME":
        suspensions.check();
        return requests.onWorkFrame(effect.frame, effect.bytes);
      case "LINK_STATE_CHANGED":
        return this.#linkStateChanged();
      case "LINK_REFUSED":
        return this.#port.post({ type: "ERROR", error: effect.error, fatal: true });
      case "SEND":
        link.send(effect.bytes);
        return;
      case "REQUEST_ENDED":
        return closing.recheck();
      case "ISOLATED_WORK":
        suspensions.check();
        return requests.onIsolatedWork(effect.message);
      case "ISOLATED_RETURNED":
        return requests.returnIsolated(effect.requestId);
      case "SET_ACCEPTING":
        return link.setStalled(!effect.accepting);
      case "GIVE_UP_LEASES":
        return requests.giveUpStalledLeases();
      case "RECLAIM_LEASES":
        return requests.reclaimStalledLeases();
      case "SEND_STALL_REPORT":
        return this.#sendStallReport(effect);
      case "STALL_STATE_CHANGED":
        this.#parts.reports.onStallChange();
        return mirror.update();
      case "MAIN_RESPONSIVE":
        coalescing.flush();
        return logger.reportDropped();
      case "CLOSED":
        return this.#closed(effect.undelivered);
      default:
        return unreachable(effect);
    }
  }

  #onSuspended(seen: SeenByClocks): void {
    const { requests, log } = this.#parts;
    requests.beginDoubt();
    const message = suspensionText(seen);
    if (message === null) return;
    const data = { suspendedMs: Math.round(seen.stoodMs), clockJumpMs: Math.round(seen.jumpMs) };
    log("warn", message, { code: "PROCESS_SUSPENDED", ...data });
  }

  #linkUp(ready: ConnectionReady, { connectionId }: StartResponse): void {
    const { reports, suspensions, requests } = this.#parts;
    suspensions.setLeaseInterval(parseIntervalMs(ready.extendLeaseInterval, WORKER_FALLBACK_INTERVALS.extendLeaseMs));
    requests.onLinkUp(ready);
    if (requests.extensions.includes("state")) reports.start();
    else reports.stop();
    this.#port.post({ type: "CONNECTION_READY", connectionId, extensions: requests.extensions });
  }

  #linkStateChanged(): void {
    const { link, mirror } = this.#parts;
    const next = stateOf(link.state);
    if (next !== this.#state) this.#port.post({ type: "STATE_CHANGE", state: next });
    this.#state = next;
    mirror.update();
  }

  #sendStallReport({ report, told, ended }: Extract<ThreadEffect, { do: "SEND_STALL_REPORT" }>): void {
    const { link, requests } = this.#parts;
    if (ended) this.#port.post({ type: "STALL_ENDED", report });
    if (requests.extensions.includes("stall")) link.send(stallFrame(told, ended));
  }

  #closed(undelivered: readonly string[]): void {
    const { endShutdownWatch, isolated, mirror, reports, suspensions, stalls } = this.#parts;
    endShutdownWatch();
    reports.stop();
    isolated.stop();
    mirror.update();
    mirror.stop();
    stalls.stop();
    suspensions.stop();
    this.#port.post({ type: "CLOSED", undelivered });
    this.#life.end();
  }
}
