/** Who gets a thread of the pool: waiting turns get idle threads, and threads start or end for those that find none. */
import {
  type PoolEffect,
  type PoolNext,
  type PoolRules,
  type PoolState,
  type PoolThread,
  type PoolTurn,
  slotCount,
  type ThreadPhase,
} from "./pool-types.ts";

export function isLive({ phase }: PoolThread): boolean {
  return phase.type !== "abandoned";
}

export function withPhase(state: PoolState, id: number, phase: ThreadPhase, turns = 0): PoolState {
  const threads = state.threads.slice();
  const at = threads.findIndex((thread) => thread.id === id);
  const thread = threads[at];
  if (thread === undefined) return state;
  threads[at] = { ...thread, phase, turns: thread.turns + turns };
  return { ...state, threads };
}

/** The most recent one first, so that others are idle for long enough to end. */
export function giveTurns(state: PoolState): PoolNext {
  if (state.queue.length === 0) return [state, []];
  const effects: PoolEffect[] = [];
  let next = state;
  const queue: PoolTurn[] = [];
  for (const turn of state.queue) {
    const id = idleLast(next, turn.memoryMb);
    if (id === undefined) {
      queue.push(turn);
      continue;
    }
    next = withPhase(next, id, { type: "busy", turn });
    effects.push({ do: "GIVE", id, turn });
  }
  return [{ ...next, queue }, effects];
}

function idleLast(state: PoolState, memoryMb: number): number | undefined {
  let lastMs = Number.NEGATIVE_INFINITY;
  let last: number | undefined;
  for (const thread of state.threads) {
    const { phase } = thread;
    if (phase.type !== "idle" || thread.memoryMb !== memoryMb || phase.sinceMs <= lastMs) continue;
    lastMs = phase.sinceMs;
    last = thread.id;
  }
  return last;
}

/** Every waiting turn for which no thread starts yet gets one: a new one, or one in place of an idle one of another size. */
export function makeRoom(state: PoolState, rules: PoolRules): PoolNext {
  if (state.queue.length === 0) return [state, []];
  const effects: PoolEffect[] = [];
  const starting = new Map<number, number>();
  let ending = 0;
  for (const { phase, memoryMb } of state.threads) {
    if (phase.type === "starting") starting.set(memoryMb, (starting.get(memoryMb) ?? 0) + 1);
    if (phase.type === "ending") ending += 1;
  }
  let next = state;
  for (const { memoryMb } of state.queue) {
    const soon = starting.get(memoryMb) ?? 0;
    if (soon > 0) {
      starting.set(memoryMb, soon - 1);
      continue;
    }
    const slot = freeSlot(next, rules);
    if (slot !== undefined) {
      effects.push({ do: "SPAWN", id: next.nextId, slot, memoryMb });
      next = started(next, slot, memoryMb);
    } else if (ending > 0) {
      ending -= 1;
    } else {
      const other = next.threads.find(({ phase }) => phase.type === "idle");
      if (other === undefined || next.isBackingOff) break;
      effects.push({ do: "RETIRE", id: other.id });
      next = withPhase(next, other.id, { type: "ending", why: "room" });
    }
  }
  return [next, effects];
}

export function fillUp(state: PoolState, rules: PoolRules): PoolNext {
  const effects: PoolEffect[] = [];
  let next = state;
  while (next.threads.filter(isLive).length < next.wanted) {
    const slot = freeSlot(next, rules);
    if (slot === undefined) break;
    effects.push({ do: "SPAWN", id: next.nextId, slot, memoryMb: 0 });
    next = started(next, slot, 0);
  }
  return [next, effects];
}

function started(state: PoolState, slot: number, memoryMb: number): PoolState {
  const thread: PoolThread = { id: state.nextId, slot, memoryMb, turns: 0, phase: { type: "starting" } };
  return { ...state, nextId: state.nextId + 1, threads: [...state.threads, thread] };
}

/** Where a thread may start now. */
function freeSlot(state: PoolState, rules: PoolRules): number | undefined {
  if (state.isBackingOff || state.threads.filter(isLive).length >= rules.threads) return undefined;
  const taken = new Set(state.threads.map(({ slot }) => slot));
  for (let slot = 0; slot < slotCount(rules); slot += 1) if (!taken.has(slot)) return slot;
  return undefined;
}
