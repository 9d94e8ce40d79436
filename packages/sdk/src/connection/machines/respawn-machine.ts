/** When a connection thread that ended is replaced. `main/thread-host.ts` drives it with real threads and timers. */
import { type Next, unreachable } from "@holdfast/core";

/**
 * Keeps one connection thread alive.
 *
 * RESPAWN-1. At most one thread lives: SPAWN is asked for only when none does.
 * RESPAWN-2. Every unrequested exit counts as a crash; the wait before the next SPAWN rises with the count.
 * RESPAWN-3. The count is cleared only by a CONNECTION_READY that held for the minimum uptime (the UPTIME timer of this very
 *     thread), never by a thread that merely started.
 * RESPAWN-4. With more crashes in a row than `maxCrashes` it is FAILED, once and permanently.
 * RESPAWN-5. After STOP nothing is spawned any more; STOPPED follows once, when no thread lives.
 * RESPAWN-6. HURRY while waiting spawns at once (work is left that only a thread can deliver); the crash count stays.
 * RESPAWN-7. An event of a thread that is gone (another generation) changes nothing.
 * RESPAWN-8. A thread that hangs is terminated, once. Its end is a crash as any other; one that does not end by then can do
 *     nothing any more, and counts as ended.
 */
export type RespawnState =
  | { readonly phase: "down"; readonly crashes: number; readonly generation: number }
  | {
      readonly phase: "up";
      readonly crashes: number;
      readonly generation: number;
      readonly stopping: boolean;
      readonly hung: boolean;
    }
  | { readonly phase: "waiting"; readonly crashes: number; readonly generation: number }
  | { readonly phase: "stopped"; readonly crashes: number; readonly generation: number }
  | { readonly phase: "failed"; readonly crashes: number; readonly generation: number };

export type RespawnEvent =
  | { readonly type: "BEGIN" }
  | { readonly type: "READY"; readonly generation: number }
  | { readonly type: "NOT_READY"; readonly generation: number }
  | { readonly type: "UPTIME"; readonly generation: number }
  | { readonly type: "HUNG"; readonly generation: number }
  | { readonly type: "EXITED"; readonly generation: number }
  | { readonly type: "BACKOFF_OVER" }
  | { readonly type: "HURRY" }
  | { readonly type: "STOP" };

export type RespawnEffect =
  | { readonly do: "SPAWN"; readonly generation: number }
  | { readonly do: "TERMINATE" }
  /** Wait as the policy says for this many crashes, then BACKOFF_OVER. */
  | { readonly do: "WAIT"; readonly crashes: number }
  | { readonly do: "CANCEL_WAIT" }
  | { readonly do: "SET_UPTIME"; readonly generation: number }
  | { readonly do: "CANCEL_UPTIME" }
  | { readonly do: "FAIL"; readonly crashes: number }
  | { readonly do: "STOPPED" };

export const RESPAWN_START: RespawnState = { phase: "down", crashes: 0, generation: 0 };

export function createRespawnStep(rules: {
  readonly maxCrashes: number;
}): (state: RespawnState, event: RespawnEvent) => Next<RespawnState, RespawnEffect> {
  return (state, event) => {
    switch (event.type) {
      case "BEGIN":
        return state.phase === "down" ? spawn(state) : [state, []];
      case "READY":
        return isUp(state, event.generation)
          ? [state, [{ do: "SET_UPTIME", generation: event.generation }]]
          : [state, []];
      case "NOT_READY":
        return isUp(state, event.generation) ? [state, [{ do: "CANCEL_UPTIME" }]] : [state, []];
      case "UPTIME":
        return isUp(state, event.generation) ? [{ ...state, crashes: 0 }, []] : [state, []];
      case "HUNG":
        if (state.phase !== "up" || state.generation !== event.generation || state.hung) return [state, []];
        return [{ ...state, hung: true }, [{ do: "TERMINATE" }]];
      case "EXITED":
        return onExit(state, event.generation, rules.maxCrashes);
      case "BACKOFF_OVER":
        return state.phase === "waiting" ? spawn(state) : [state, []];
      case "HURRY":
        return onHurry(state);
      case "STOP":
        return onStop(state);
      default:
        return unreachable(event);
    }
  };
}

function isUp(state: RespawnState, generation: number): boolean {
  return state.phase === "up" && state.generation === generation;
}

function spawn(state: RespawnState): Next<RespawnState, RespawnEffect> {
  const generation = state.generation + 1;
  return [
    { phase: "up", crashes: state.crashes, generation, stopping: false, hung: false },
    [{ do: "SPAWN", generation }],
  ];
}

function onExit(state: RespawnState, generation: number, maxCrashes: number): Next<RespawnState, RespawnEffect> {
  if (state.phase !== "up" || state.generation !== generation) return [state, []];
  if (state.stopping) {
    return [{ phase: "stopped", crashes: state.crashes, generation }, [{ do: "CANCEL_UPTIME" }, { do: "STOPPED" }]];
  }
  const crashes = state.crashes + 1;
  if (crashes > maxCrashes) {
    return [{ phase: "failed", crashes, generation }, [{ do: "CANCEL_UPTIME" }, { do: "FAIL", crashes }]];
  }
  return [{ phase: "waiting", crashes, generation }, [{ do: "CANCEL_UPTIME" }, { do: "WAIT", crashes }]];
}

function onHurry(state: RespawnState): Next<RespawnState, RespawnEffect> {
  if (state.phase !== "waiting") return [state, []];
  const [next, effects] = spawn(state);
  return [next, [{ do: "CANCEL_WAIT" }, ...effects]];
}

function onStop(state: RespawnState): Next<RespawnState, RespawnEffect> {
  const { crashes, generation } = state;
  switch (state.phase) {
    case "up":
      return [{ ...state, stopping: true }, []];
    case "down":
    case "waiting":
      return [{ phase: "stopped", crashes, generation }, [{ do: "CANCEL_WAIT" }, { do: "STOPPED" }]];
    case "stopped":
    case "failed":
      return [state, []];
    default:
      return unreachable(state);
  }
}
