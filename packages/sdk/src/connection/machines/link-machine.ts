/**
 * The state machine of the connection to a gateway, over all sockets. `thread/link-driver.ts` gives it sockets, calls
 * and timers; `link-attempt.ts` is the half that makes connections, `link-types.ts` the vocabulary of both.
 */
import { type Next, unreachable } from "@holdfast/core";
import { type ConnectionReady, type Extension, TIMEOUTS, WORKER_FALLBACK_INTERVALS } from "@holdfast/protocol";
import { isLinkFrame, type LinkFrame } from "./frame-subjects.ts";
import { parseIntervalMs } from "./intervals.ts";
import { beginAttempt, failAttempt, onAttemptFrame, onStartFailed, reconnect } from "./link-attempt.ts";
import type { ActiveLink, LinkEffect, LinkEvent, LinkRules, LinkState } from "./link-types.ts";

type Open = Extract<LinkState, { phase: "open" }>;
export const LINK_START: LinkState = { phase: "idle", closing: false };

/**
 * The connection to "a gateway": making it, making it again, replacing it while its gateway drains, ending it.
 *
 * LINK-1. A generation is used once. An event of a generation that is neither the active connection's nor the attempt's
 *     changes nothing and has no effects.
 * LINK-2. At most one active connection and one attempt. Every socket that is left, for whatever reason, is closed.
 * LINK-3. Once shutdown began no WORKER_READY is sent: a connection announces itself with WORKER_PAUSE.
 * LINK-4. While a gateway drains, its connection stays the active one until its replacement is ready; then it is closed.
 *     A second GATEWAY_CLOSING, or one of an old connection, changes nothing.
 *     Where it ends before, the next attempt is made as after a first failure: the gateway may be back.
 * LINK-5. A peer that answered none of the last two heartbeats when the next is due is dead: its socket is destroyed.
 * LINK-6. Failures are counted up by every attempt that fails and every connection that ends before it held for the minimum
 *     uptime; only such a steady connection clears them. Every attempt but the first one waits as its count says, and
 *     no less than the gateway asked for.
 * LINK-7. The group of a connection that failed, broke or drains is excluded until one of that group becomes ready.
 * LINK-8. A refused key is replaced by the other one at once, if there is one; when all are refused that is permanent.
 * LINK-9. A permanent refusal before the first connection ends everything (REFUSED); after it, it is logged and tried on.
 * LINK-10. After FINISH there is no effect but those that end sockets, timers and calls; then none at all.
 * LINK-11. While main stalls (STALL) a connection that agreed on `stall` announces itself with WORKER_PAUSE; WORKER_READY
 *      follows when main is responsive, unless shutdown began.
 * LINK-14. Where partitions were agreed on, and there are some, it is ready all the while, and WORKER_MAIN_PAUSE and
 *      WORKER_MAIN_READY are said instead: functions that need no main thread get work. Where they were not agreed on
 *      nothing is said: work for main waits for it.
 * LINK-12. Without `stall` WORKER_PAUSE is sent for shutdown only: to a gateway of the base protocol it is final for the connection.
 * LINK-13. A connection that has announced a stall repeats with each heartbeat whether it still stalls, until shutdown began
 *      or its gateway drains: one whose WORKER_READY was missed would get no work while it lives.
 */
export function createLinkStep(rules: LinkRules): (state: LinkState, event: LinkEvent) => Next<LinkState, LinkEffect> {
  return (state, event) => {
    switch (state.phase) {
      case "idle":
        return stepIdle(state, event);
      case "open":
        return stepOpen(state, event, rules);
      case "closed":
        return [state, []];
      default:
        return unreachable(state);
    }
  };
}

function stepIdle(state: Extract<LinkState, { phase: "idle" }>, event: LinkEvent): Next<LinkState, LinkEffect> {
  switch (event.type) {
    case "CONNECT":
      return beginAttempt({
        phase: "open",
        closing: state.closing,
        stalled: false,
        active: null,
        attempt: { step: "none" },
        memory: {
          generation: 0,
          failures: 0,
          everReady: event.resumed,
          key: "primary",
          refusedKeys: 0,
          problem: "",
          excluded: [],
        },
      });
    case "SHUTDOWN":
      return [{ ...state, closing: true }, []];
    case "FINISH":
      return [{ phase: "closed" }, [{ do: "STATE_CHANGED" }]];
    default:
      return [state, []];
  }
}

function stepOpen(state: Open, event: LinkEvent, rules: LinkRules): Next<LinkState, LinkEffect> {
  switch (event.type) {
    case "CONNECT":
      return [state, []];
    case "SHUTDOWN":
      return shutDown(state);
    case "STALL":
      return stall(state, event.stalled);
    case "FINISH":
      return finish(state);
    case "START_OK": {
      const { attempt } = state;
      if (attempt.step !== "starting" || attempt.generation !== event.generation) return [state, []];
      const { generation, start } = event;
      return [
        {
          ...state,
          attempt: { step: "opening", generation, start, handshake: { phase: "hello" } },
          memory: { ...state.memory, refusedKeys: 0 },
        },
        [
          { do: "OPEN", generation, start },
          { do: "SET_TIMER", timer: "open", generation },
        ],
      ];
    }
    case "START_FAILED":
      return onStartFailed(state, event, rules);
    default:
      return stepSocket(state, event, rules);
  }
}

type SocketEvent = Extract<LinkEvent, { type: "FRAME" | "BAD_FRAME" | "SOCKET_CLOSED" | "TIMER" }>;

function stepSocket(state: Open, event: SocketEvent, rules: LinkRules): Next<LinkState, LinkEffect> {
  const { active, attempt } = state;
  const ready = (next: Open, generation: number, frame: ConnectionReady): Next<LinkState, LinkEffect> =>
    becomeActive(rules, next, generation, frame);
  if (active?.generation === event.generation) return stepActive(state, active, event);
  if (attempt.step === "waiting" && attempt.generation === event.generation) {
    return event.type === "TIMER" && event.timer === "backoff" ? beginAttempt(state) : [state, []];
  }
  if (attempt.step !== "opening" || attempt.generation !== event.generation) return [state, []];
  switch (event.type) {
    case "FRAME":
      return onAttemptFrame(state, attempt, { type: "FRAME", frame: event.frame }, rules, ready);
    case "BAD_FRAME":
      return onAttemptFrame(state, attempt, { type: "BAD_FRAME", message: event.message }, rules, ready);
    case "SOCKET_CLOSED":
      return onAttemptFrame(state, attempt, { type: "CLOSED", code: event.code, reason: event.reason }, rules, ready);
    case "TIMER":
      return event.timer === "open" ? onAttemptFrame(state, attempt, { type: "TIMEOUT" }, rules, ready) : [state, []];
    default:
      return unreachable(event);
  }
}

function onActiveFrame(state: Open, active: ActiveLink, frame: LinkFrame): Next<LinkState, LinkEffect> {
  switch (frame.kind) {
    case "GATEWAY_CLOSING":
      return drain(state, active);
    case "GATEWAY_HEARTBEAT":
      return [
        { ...state, active: { ...active, unanswered: 0 } },
        [{ do: "HEARTBEAT_ANSWERED", generation: active.generation }],
      ];
    // Parts of a handshake that is over.
    case "GATEWAY_HELLO":
    case "GATEWAY_CONNECTION_READY":
    case "SYNC_FAILED":
      return [state, []];
    default:
      return unreachable(frame);
  }
}

function stepActive(state: Open, active: ActiveLink, event: SocketEvent): Next<LinkState, LinkEffect> {
  switch (event.type) {
    case "FRAME":
      return event.frame.kind !== "UNKNOWN" && isLinkFrame(event.frame)
        ? onActiveFrame(state, active, event.frame)
        : [state, []];
    case "BAD_FRAME":
      return [
        state,
        [
          {
            do: "LOG",
            level: "error",
            code: "FRAME_INVALID",
            message: `Ignored bytes that are not a valid frame: ${event.message}`,
          },
        ],
      ];
    case "SOCKET_CLOSED":
      return lose(state, active, `closed (${event.code} ${event.reason || "without a reason"})`, []);
    case "TIMER":
      return onActiveTimer(state, active, event.timer);
    default:
      return unreachable(event);
  }
}

function onActiveTimer(state: Open, active: ActiveLink, timer: string): Next<LinkState, LinkEffect> {
  if (timer === "uptime") {
    return [{ ...state, active: { ...active, steady: true }, memory: { ...state.memory, failures: 0 } }, []];
  }
  if (timer !== "heartbeat") return [state, []];
  if (active.unanswered >= TIMEOUTS.missedHeartbeats) {
    return lose(state, active, `left ${active.unanswered} heartbeats unanswered`, [
      { do: "DESTROY_SOCKET", generation: active.generation },
    ]);
  }
  const { generation, hasStalled, draining } = active;
  return [
    { ...state, active: { ...active, unanswered: active.unanswered + 1 } },
    [
      ...(hasStalled && !draining && !state.closing ? [stallAnnouncement(active, state.stalled)] : []),
      { do: "SEND", generation, kind: "WORKER_HEARTBEAT" },
    ],
  ];
}

function becomeActive(
  rules: LinkRules,
  state: Open,
  generation: number,
  ready: ConnectionReady,
): Next<LinkState, LinkEffect> {
  const { attempt, active: previous, closing, stalled, memory } = state;
  if (attempt.step !== "opening") return [state, []];
  const { start } = attempt;
  const heartbeatMs = parseIntervalMs(ready.heartbeatInterval, WORKER_FALLBACK_INTERVALS.heartbeatMs);
  const pauses = pausesFor(rules, ready);
  const active: ActiveLink = {
    generation,
    connectionId: start.connectionId,
    group: start.gatewayGroup,
    draining: false,
    heartbeatMs,
    unanswered: 1,
    steady: false,
    pauses,
    hasStalled: stalled && pauses !== "nothing",
  };
  return [
    {
      ...state,
      active,
      attempt: { step: "none" },
      memory: {
        ...memory,
        everReady: true,
        excluded: memory.excluded.filter((group) => group !== start.gatewayGroup),
      },
    },
    [
      { do: "CANCEL_TIMERS", generation },
      announcement(generation, closing || (active.hasStalled && pauses === "all")),
      ...(active.hasStalled && pauses === "main" && !closing ? [stallAnnouncement(active, true)] : []),
      { do: "SEND", generation, kind: "WORKER_HEARTBEAT" },
      { do: "START_HEARTBEAT", generation, intervalMs: heartbeatMs },
      { do: "SET_TIMER", timer: "uptime", generation },
      { do: "LINK_UP", generation, start, ready },
      ...(previous
        ? ([
            { do: "CANCEL_TIMERS", generation: previous.generation },
            { do: "CLOSE_SOCKET", generation: previous.generation, code: 1000, reason: "GATEWAY_DRAINING" },
          ] as const)
        : []),
      { do: "STATE_CHANGED" },
    ],
  ];
}

function drain(state: Open, active: ActiveLink): Next<LinkState, LinkEffect> {
  if (active.draining) return [state, []];
  const message = `The gateway of connection ${active.connectionId} is shutting down; opening another connection before closing this one.`;
  const next: Open = { ...state, active: { ...active, draining: true } };
  const [after, effects] = reconnect(next, active);
  return [after, [{ do: "LOG", level: "info", message }, ...effects, { do: "STATE_CHANGED" }]];
}

function lose(state: Open, active: ActiveLink, how: string, first: readonly LinkEffect[]): Next<LinkState, LinkEffect> {
  const { generation } = active;
  const [lost, ended] = leaveLongWait({ ...state, active: null }, active);
  const [after, effects] = reconnect(lost, active);
  return [
    after,
    [
      ...first,
      ...ended,
      { do: "CANCEL_TIMERS", generation },
      { do: "LINK_DOWN", generation },
      {
        do: "LOG",
        level: active.draining ? "info" : "warn",
        code: "CONNECTION_LOST",
        message: `Connection ${active.connectionId} ${how}.`,
      },
      ...effects,
      { do: "STATE_CHANGED" },
    ],
  ];
}

/** While the gateway drained there was no other one, so the attempts have become rare. */
function leaveLongWait(state: Open, lost: ActiveLink): readonly [Open, readonly LinkEffect[]] {
  if (!lost.draining || state.attempt.step !== "waiting") return [state, []];
  const [none, effects] = failAttempt(state);
  return [{ ...none, memory: { ...none.memory, failures: 0 } }, effects];
}

function shutDown(state: Open): Next<LinkState, LinkEffect> {
  if (state.closing) return [state, []];
  const { active } = state;
  return [
    { ...state, closing: true },
    [
      ...(active ? ([{ do: "SEND", generation: active.generation, kind: "WORKER_PAUSE" }] as const) : []),
      { do: "STATE_CHANGED" },
    ],
  ];
}

function stall(state: Open, stalled: boolean): Next<LinkState, LinkEffect> {
  if (state.stalled === stalled) return [state, []];
  const { active, closing } = state;
  const next: Open = { ...state, stalled };
  if (active === null || active.draining || closing || active.pauses === "nothing") return [next, []];
  return [{ ...next, active: { ...active, hasStalled: true } }, [stallAnnouncement(active, stalled)]];
}

function pausesFor(rules: LinkRules, ready: ConnectionReady): ActiveLink["pauses"] {
  const agreed = (name: Extension): boolean => rules.extensions.includes(name) && ready.extensions.includes(name);
  if (!agreed("stall")) return "nothing";
  if (!rules.hasPartitions) return "all";
  return agreed("partitions") ? "main" : "nothing";
}

function stallAnnouncement({ generation, pauses }: ActiveLink, stalled: boolean): LinkEffect {
  if (pauses === "all") return announcement(generation, stalled);
  return { do: "SEND", generation, kind: stalled ? "WORKER_MAIN_PAUSE" : "WORKER_MAIN_READY" };
}

function announcement(generation: number, pauses: boolean): LinkEffect {
  return { do: "SEND", generation, kind: pauses ? "WORKER_PAUSE" : "WORKER_READY" };
}

function finish(state: Open): Next<LinkState, LinkEffect> {
  const { active } = state;
  const [, ended] = failAttempt(state);
  const effects: LinkEffect[] = [...ended];
  if (active) {
    effects.push(
      { do: "CANCEL_TIMERS", generation: active.generation },
      { do: "CLOSE_SOCKET", generation: active.generation, code: 1000, reason: "WORKER_SHUTDOWN" },
    );
  }
  return [{ phase: "closed" }, [...effects, { do: "STATE_CHANGED" }]];
}
