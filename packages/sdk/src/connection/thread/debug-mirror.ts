/**
 * What the connection thread says of itself, for `debugState()` on main: a snapshot on every change and every few
 * seconds, so that it can be read also while the thread hangs.
 */
import { type Clock, type TimerHandle, type Timers, unreachable } from "@holdfast/core";
import type { LinkState } from "../machines/link-types.ts";
import type { ConnectionState, DebugState } from "../shared/debug-state.ts";
import type { LinkDriver } from "./link-driver.ts";
import type { MainPort } from "./main-port.ts";
import type { RequestManager } from "./request-manager.ts";
import type { StallWatch } from "./stall-watch.ts";

export interface DebugSources {
  readonly link: LinkDriver;
  readonly requests: Pick<RequestManager, "extensions" | "debugState">;
  readonly clock: Clock;
  readonly crashes: number;
  readonly stalls: Pick<StallWatch, "lagMs" | "debugState">;
  readonly logsDropped: () => number;
}

export function stateOf(link: LinkState): ConnectionState {
  switch (link.phase) {
    case "idle":
      return link.closing ? "CLOSING" : "CONNECTING";
    case "open":
      if (link.closing) return "CLOSING";
      if (link.active && !link.active.draining) return "ACTIVE";
      return link.memory.everReady ? "RECONNECTING" : "CONNECTING";
    case "closed":
      return "CLOSED";
    default:
      return unreachable(link);
  }
}

export function snapshot({ link, requests, clock, ...rest }: DebugSources): DebugState {
  const { state, heartbeat } = link;
  const active = state.phase === "open" ? state.active : null;
  return {
    writtenAtMs: clock.nowMs(),
    state: stateOf(state),
    connectionId: active && !active.draining ? active.connectionId : null,
    drainingConnectionId: active?.draining ? active.connectionId : null,
    extensions: [...requests.extensions],
    heartbeat: {
      intervalMs: heartbeat.intervalMs,
      lastSentAtMs: heartbeat.lastSentAtMs,
      lastAnsweredAtMs: heartbeat.lastAnsweredAtMs,
      roundTripMs: heartbeat.roundTripMs,
      unanswered: active?.unanswered ?? 0,
    },
    ...requests.debugState(),
    reconnectAttempts: state.phase === "open" ? state.memory.failures : 0,
    crashes: rest.crashes,
    lastError: link.lastError,
    mainLagMs: rest.stalls.lagMs,
    stalls: rest.stalls.debugState(),
    logsDropped: rest.logsDropped(),
    transitions: link.trace(),
  };
}

/** Mirrors the thread's state to main: on change and every `debugMs`. */
export interface DebugMirror {
  update(): void;
  stop(): void;
}

export function createDebugMirror(
  sources: DebugSources,
  port: Pick<MainPort, "post">,
  timers: Timers,
  debugMs: number,
): DebugMirror {
  let timer: TimerHandle | undefined;
  const mirror = (): void =>
    port.post({ type: "DEBUG_STATE", debug: snapshot(sources), writtenMs: sources.clock.monotonicMs() });
  const scheduleNext = (): void => {
    timer = timers.set(debugMs, () => {
      mirror();
      scheduleNext();
    });
  };
  scheduleNext();
  return { update: mirror, stop: () => timer?.cancel() };
}
