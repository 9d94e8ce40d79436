/**
 * The pool of threads for code that computes: which turn goes to which thread, when threads start and end.
 * `main/pool.ts` drives it with real threads; whether a thread is really free is decided in `shared/thread-cells.ts`,
 * since the connection thread takes threads, too.
 */
import { type PlainError, unreachable } from "@holdfast/core";
import { fillUp, giveTurns, isLive, makeRoom, withPhase } from "./pool-room.ts";
import type {
  CutCause,
  EndCause,
  FailCause,
  PoolCounts,
  PoolEffect,
  PoolEvent,
  PoolNext,
  PoolRules,
  PoolState,
  PoolThread,
  PoolTurn,
  ThreadPhase,
} from "./pool-types.ts";

export function createPoolStep(rules: PoolRules): (state: PoolState, event: PoolEvent) => PoolNext {
  return (state, event) => {
    switch (event.type) {
      case "SUBMIT":
        return onSubmit(state, event.turn, rules);
      case "WITHDRAW":
        return onWithdraw(state, event.key);
      case "READY":
        return onReady(state, event, rules);
      case "NOT_FREE":
        return onNotFree(state, event.id, rules);
      case "FINISHED":
        return onFinished(state, event, rules);
      case "LENT":
        return [phaseOf(state, event.id)?.type === "idle" ? withPhase(state, event.id, { type: "lent" }) : state, []];
      case "RETURNED":
        return phaseOf(state, event.id)?.type === "lent" ? freed(state, event, rules) : [state, []];
      case "CUT":
        return onCut(state, event, rules);
      case "EXITED":
        return onExited(state, event, rules);
      case "NOT_ENDING":
        return onNotEnding(state, event, rules);
      case "IDLE_CHECK":
        return onIdleCheck(state, event.nowMs, rules);
      case "WANT":
        return settle({ ...state, wanted: Math.min(rules.threads, Math.max(event.count, rules.warm)) }, [], rules);
      case "BACKOFF_OVER":
        return settle({ ...state, isBackingOff: false }, [], rules);
      case "STOP":
        return onStop(state, event.reason);
      default:
        return unreachable(event);
    }
  };
}

function phaseOf(state: PoolState, id: number): ThreadPhase | undefined {
  return state.threads.find((thread) => thread.id === id)?.phase;
}

function counted(state: PoolState, what: keyof PoolCounts): PoolState {
  return { ...state, counts: { ...state.counts, [what]: state.counts[what] + 1 } };
}

function onSubmit(state: PoolState, turn: PoolTurn, rules: PoolRules): PoolNext {
  const fail = (cause: FailCause): PoolNext => [state, [{ do: "FAIL", key: turn.key, cause, reason: null }]];
  if (state.isStopping) return fail("STOPPED");
  const [next, effects] = settle({ ...state, queue: [...state.queue, turn] }, [], rules);
  // What found a thread at once has waited for none.
  return next.queue.length > rules.maxQueue ? fail("QUEUE_FULL") : [next, effects];
}

function onWithdraw(state: PoolState, key: number): PoolNext {
  if (state.queue.some((turn) => turn.key === key)) {
    return [{ ...state, queue: state.queue.filter((turn) => turn.key !== key) }, [{ do: "DROP", key }]];
  }
  for (const { id, phase } of state.threads) {
    if (phase.type !== "busy" || phase.turn.key !== key) continue;
    return [withPhase(state, id, { ...phase, isWithdrawn: true }), [{ do: "ABORT", id, key }]];
  }
  return [state, []];
}

function onReady(state: PoolState, event: { readonly id: number; readonly nowMs: number }, rules: PoolRules): PoolNext {
  if (phaseOf(state, event.id)?.type !== "starting") return [state, []];
  return settle(withPhase(state, event.id, { type: "idle", sinceMs: event.nowMs }), [], rules);
}

function onNotFree(state: PoolState, id: number, rules: PoolRules): PoolNext {
  const phase = phaseOf(state, id);
  const lent = withPhase(state, id, { type: "lent" });
  if (phase?.type === "busy") return settle(...givenBack(lent, phase), rules);
  return phase?.type === "ending" && !state.isStopping ? settle(lent, [], rules) : [state, []];
}

function onFinished(state: PoolState, event: Extract<PoolEvent, { type: "FINISHED" }>, rules: PoolRules): PoolNext {
  const phase = phaseOf(state, event.id);
  return phase?.type === "busy" && phase.turn.key === event.key ? freed(state, event, rules) : [state, []];
}

/** Its thread has not begun with it. */
function givenBack(
  state: PoolState,
  { turn, isWithdrawn }: Extract<ThreadPhase, { type: "busy" }>,
): [PoolState, readonly PoolEffect[]] {
  if (isWithdrawn) return [state, [{ do: "DROP", key: turn.key }]];
  return [{ ...state, queue: [turn, ...state.queue] }, []];
}

/** The thread is free again, has had as many turns as it may have, or is to have no more. */
function freed(
  state: PoolState,
  { id, nowMs, isSpent }: { readonly id: number; readonly nowMs: number; readonly isSpent: boolean },
  rules: PoolRules,
): PoolNext {
  const idle = withPhase({ ...state, startFailures: 0 }, id, { type: "idle", sinceMs: nowMs }, 1);
  if (isSpent) {
    return settle(withPhase(idle, id, { type: "ending", why: "spent" }), [{ do: "TERMINATE", id }], rules);
  }
  const turns = idle.threads.find((thread) => thread.id === id)?.turns ?? 0;
  if (rules.recycleAfter === null || turns < rules.recycleAfter) return settle(idle, [], rules);
  return settle(withPhase(idle, id, { type: "ending", why: "recycled" }), [{ do: "RETIRE", id }], rules);
}

function onCut(
  state: PoolState,
  { id, reason, why }: { readonly id: number; readonly reason: PlainError; readonly why: CutCause },
  rules: PoolRules,
): PoolNext {
  const phase = phaseOf(state, id);
  const isLeftBehind = why === "left-behind";
  const isFree = phase?.type === "idle" && isLeftBehind;
  if (phase?.type !== "busy" && phase?.type !== "lent" && !isFree) return [state, []];
  const known = why === "overrun" ? counted(state, "overruns") : state;
  const ending = withPhase(known, id, { type: "ending", why: isLeftBehind ? why : "cut" });
  const terminate: PoolEffect = { do: "TERMINATE", id };
  if (phase.type !== "busy") return [ending, [terminate]];
  if (isLeftBehind) {
    const [next, drops] = givenBack(ending, phase);
    return settle(next, [...drops, terminate], rules);
  }
  return [ending, [{ do: "FAIL", key: phase.turn.key, cause: "ENDED", reason }, terminate]];
}

function onExited(
  state: PoolState,
  { id, reason, isUnbegun, isShortage }: Extract<PoolEvent, { type: "EXITED" }>,
  rules: PoolRules,
): PoolNext {
  const thread = state.threads.find((one) => one.id === id);
  if (thread === undefined) return [state, []];
  const left = { ...state, threads: state.threads.filter((one) => one.id !== id) };
  switch (thread.phase.type) {
    case "starting":
      return onStartFailed(left, thread, reason, isShortage ?? false, rules);
    case "busy":
      if (isUnbegun && !state.isStopping) {
        const [next, drops] = givenBack(counted(left, "crashes"), thread.phase);
        return backedOff(next, drops, null, rules);
      }
      return settle(
        counted(left, "crashes"),
        [{ do: "FAIL", key: thread.phase.turn.key, cause: "ENDED", reason }],
        rules,
      );
    case "idle":
    case "lent":
      return settle(counted(left, "crashes"), [], rules);
    case "ending":
      return settle(isReplaced(thread.phase.why) ? counted(left, "recycled") : left, [], rules);
    case "abandoned":
      return settle(left, [], rules);
    default:
      return unreachable(thread.phase);
  }
}

function isReplaced(why: EndCause): boolean {
  return why === "recycled" || why === "spent" || why === "left-behind";
}

function onStartFailed(
  state: PoolState,
  { memoryMb }: PoolThread,
  reason: PlainError,
  isShortage: boolean,
  rules: PoolRules,
): PoolNext {
  if (state.isStopping) return settle(state, [], rules);
  const failing = state.queue.find((one) => one.memoryMb === memoryMb && (!isShortage || one.isImpatient));
  const next = { ...counted(state, "crashes"), queue: state.queue.filter((one) => one !== failing) };
  return backedOff(
    next,
    failing ? [{ do: "FAIL", key: failing.key, cause: "NOT_STARTED", reason }] : [],
    reason,
    rules,
  );
}

/** No thread starts until a pause is over. */
function backedOff(
  state: PoolState,
  before: readonly PoolEffect[],
  reason: PlainError | null,
  rules: PoolRules,
): PoolNext {
  const failures = state.startFailures + 1;
  const wait: readonly PoolEffect[] = state.isBackingOff ? [] : [{ do: "BACK_OFF", failures, reason }];
  return settle({ ...state, startFailures: failures, isBackingOff: true }, [...before, ...wait], rules);
}

function onNotEnding(
  state: PoolState,
  { id, reason }: { readonly id: number; readonly reason: PlainError },
  rules: PoolRules,
): PoolNext {
  const thread = state.threads.find((one) => one.id === id);
  const abandoned = withPhase(state, id, { type: "abandoned" });
  if (thread?.phase.type === "starting") return onStartFailed(abandoned, thread, reason, false, rules);
  return thread?.phase.type === "ending" ? settle(abandoned, [], rules) : [state, []];
}

function onIdleCheck(state: PoolState, nowMs: number, { idleMs }: PoolRules): PoolNext {
  if (idleMs === null || state.isStopping) return [state, []];
  const spare = state.threads.filter(isLive).length - state.wanted;
  const over = state.threads
    .filter(({ phase }) => phase.type === "idle" && nowMs - phase.sinceMs >= idleMs)
    .slice(0, Math.max(0, spare));
  const ending = over.reduce((next, { id }) => withPhase(next, id, { type: "ending", why: "idle" }), state);
  return [ending, over.map(({ id }): PoolEffect => ({ do: "RETIRE", id }))];
}

function onStop(state: PoolState, reason: PlainError): PoolNext {
  if (state.isStopping) return [state, []];
  const fails = state.queue.map(({ key }): PoolEffect => ({ do: "FAIL", key, cause: "STOPPED", reason }));
  const ends = state.threads.flatMap(({ id, phase }): PoolEffect[] => {
    switch (phase.type) {
      case "busy":
        return [
          { do: "FAIL", key: phase.turn.key, cause: "STOPPED", reason },
          { do: "TERMINATE", id },
        ];
      case "starting":
      case "idle":
      case "lent":
        return [{ do: "TERMINATE", id }];
      case "ending":
      case "abandoned":
        return [];
      default:
        return unreachable(phase);
    }
  });
  const threads = state.threads.map(
    (thread): PoolThread => (isLive(thread) ? { ...thread, phase: { type: "ending", why: "stopped" } } : thread),
  );
  return endStopping({ ...state, threads, queue: [], isStopping: true }, [...fails, ...ends]);
}

function endStopping(state: PoolState, effects: readonly PoolEffect[]): PoolNext {
  if (state.isStopped || state.threads.some(isLive)) return [state, effects];
  return [{ ...state, isStopped: true }, [...effects, { do: "STOPPED" }]];
}

/** Gives waiting turns to idle threads, and starts or ends threads for those that find none. */
function settle(state: PoolState, before: readonly PoolEffect[], rules: PoolRules): PoolNext {
  if (state.isStopping) return endStopping(state, before);
  const [given, gives] = giveTurns(state);
  const [served, serves] = makeRoom(given, rules);
  const [filled, fills] = fillUp(served, rules);
  const effects = before.concat(gives, serves, fills);
  const isDead = filled.queue.length > 0 && !filled.threads.some(isLive) && !filled.isBackingOff;
  if (!isDead) return [filled, effects];
  const fails = filled.queue.map(({ key }): PoolEffect => ({ do: "FAIL", key, cause: "EXHAUSTED", reason: null }));
  return [{ ...filled, queue: [] }, [...effects, ...fails]];
}
