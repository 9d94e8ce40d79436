/**
 * Logs why runs wait that a person may have to do something about: once for each function and reason, with how many runs
 * there are, and once that they go on. What ends by itself, or from outside (sleeps, events, the next attempt, which was
 * logged with the failed one), is left out. Looks now and then; a look costs one statement while nothing waits.
 *
 * WAITLOG-1. A reason of a function is logged once until no run of it has it any more, however many runs come and go.
 * WAITLOG-2. What is over by the next look is not logged: a worker that restarts, a lane that is full for a moment.
 * WAITLOG-3. At one look at most `MOST_LINES` lines are written; of further functions one line says how many there are.
 */
import type { Log, LogLevel } from "@holdfast/core";
import { MAX_AHEAD, type OverdueWork, plainName, type Store } from "@holdfast/store";
import type { Dispatcher, RunWaiting } from "../dispatch/index.ts";
import { durationText } from "./duration-text.ts";

export interface WaitingPace {
  readonly everyMs: number;
  /** Work that nothing here can do is logged when it has been due for so long. */
  readonly stuckMs: number;
  /** Work that waits its turn is, when it has been due for so long. */
  readonly busyMs: number;
}

/** Where people look on, and where machines do. */
export const SOON: WaitingPace = { everyMs: 1_500, stuckMs: 4_000, busyMs: 30_000 };
export const CALM: WaitingPace = { everyMs: 10_000, stuckMs: 30_000, busyMs: 300_000 };

const MOST_LINES = 20;
/** Functions whose runs are looked at more closely, at one look. */
const MOST_LOOKED_AT = 100;
/** So many looks have to agree. */
const AGREED = 2;

type Reason = RunWaiting["reason"];

/** What the runs of a function do not wait for any more, for each reason that is logged. */
const LOGGED = {
  FUNCTION_PAUSED: { level: "warn", when: "stuck", what: "for the end of a pause" },
  NO_WORKER: { level: "warn", when: "stuck", what: "for a worker" },
  NO_WORKER_IN_QUEUE: { level: "warn", when: "stuck", what: "for a worker of its queue" },
  VERSION: { level: "warn", when: "stuck", what: "for a worker of its version" },
  NO_ROOM: { level: "warn", when: "busy", what: "for a worker with room" },
  STARTING: { level: "warn", when: "busy", what: "to be given to a worker" },
  LIMITS: { level: "info", when: "busy", what: "for a place" },
  THROTTLED: { level: "info", when: "busy", what: "for its throttle" },
  BACKLOG: { level: "info", when: "busy", what: "for the runs before it" },
} as const satisfies Partial<
  Record<Reason, { readonly level: LogLevel; readonly when: "stuck" | "busy"; readonly what: string }>
>;
type LoggedReason = keyof typeof LOGGED;

const isLogged = (reason: Reason): reason is LoggedReason => reason in LOGGED;

export interface WaitingLogParts {
  readonly store: Pick<Store, "overdueWork" | "nowMs"> & { health(): { readonly ok: boolean } };
  readonly dispatcher: {
    readonly functions: { all(): Iterable<{ readonly id: string }> };
    readonly waitingRuns: Pick<Dispatcher["waitingRuns"], "whyWait">;
  };
  readonly log: Log;
}

/** Runs of one function that wait for one reason. */
interface Group {
  readonly functionId: string;
  readonly reason: LoggedReason;
  /** Of the one that has waited longest. */
  readonly message: string;
  readonly runId: string;
  readonly dueMs: number;
  readonly count: number;
  /** There are, or may be, more. */
  readonly isMore: boolean;
}

interface Known {
  readonly functionId: string;
  readonly reason: LoggedReason;
  isSaid: boolean;
  seen: number;
  missed: number;
}

export class WaitingLog {
  readonly #parts: WaitingLogParts;
  readonly #pace: WaitingPace;
  readonly #known = new Map<string, Known>();

  constructor(parts: WaitingLogParts, pace: WaitingPace) {
    this.#parts = parts;
    this.#pace = pace;
  }

  async look(): Promise<void> {
    const { store, dispatcher } = this.#parts;
    // What keeps all of them waiting is the database, which the store says.
    if (!store.health().ok) return;
    const functionIds = [...dispatcher.functions.all()].map(({ id }) => id);
    const overdue = await store.overdueWork({ functionIds, dueForMs: this.#pace.stuckMs });
    if (overdue.length === 0 && this.#known.size === 0) return;
    const looked = overdue.slice(0, MOST_LOOKED_AT);
    const runIds = looked.flatMap(({ runs }) => runs.map(({ runId }) => runId));
    const [why, nowMs] = await Promise.all([dispatcher.waitingRuns.whyWait(runIds), store.nowMs()]);
    const isLate = ({ reason, dueMs }: Group): boolean =>
      nowMs - dueMs >= (LOGGED[reason].when === "stuck" ? this.#pace.stuckMs : this.#pace.busyMs);
    const groups = looked.flatMap((work) => groupsOf(work, why)).filter(isLate);
    this.#say(groups, nowMs, overdue.length - looked.length);
    this.#forget(groups);
  }

  #say(groups: readonly Group[], nowMs: number, unlooked: number): void {
    const isNew = groups.filter((group) => {
      const known = this.#knownOf(group);
      known.seen += 1;
      known.missed = 0;
      return known.seen >= AGREED && !known.isSaid;
    });
    for (const group of isNew) this.#knownOf(group).isSaid = true;
    for (const { functionId, reason, message, runId, dueMs, count, isMore } of isNew.slice(0, MOST_LINES)) {
      const name = plainName(functionId);
      const waits = durationText(nowMs - dueMs);
      const who =
        count === 1 && !isMore
          ? `A run of ${name} waits for ${waits}`
          : `${count}${isMore ? " or more" : ""} runs of ${name} wait, the oldest for ${waits}`;
      const data = { reason, functionId: name, runs: count, runId };
      this.#parts.log(LOGGED[reason].level, `${who}: ${message}`, data);
    }
    const unsaid = new Set(isNew.slice(MOST_LINES).map(({ functionId }) => functionId)).size;
    if (unsaid === 0) return;
    const more = `And runs of ${unsaid + unlooked} more functions wait, too many to list: holdfast-gateway runs --waiting`;
    this.#parts.log("warn", more, { functions: unsaid + unlooked });
  }

  /** Runs that no look has found any more go on, or have ended; a function that waits for something else does not. */
  #forget(groups: readonly Group[]): void {
    const here = new Set(groups.map(keyOf));
    const over: Known[] = [];
    for (const [key, known] of this.#known) {
      if (here.has(key)) continue;
      known.missed += 1;
      known.seen = 0;
      if (known.isSaid && known.missed < AGREED) continue;
      this.#known.delete(key);
      if (known.isSaid) over.push(known);
    }
    const stillSaid = new Set([...this.#known.values()].flatMap((one) => (one.isSaid ? [one.functionId] : [])));
    const ended = over.filter(({ functionId }) => !stillSaid.has(functionId));
    for (const { functionId, reason } of ended.slice(0, MOST_LINES)) {
      const name = plainName(functionId);
      this.#parts.log("info", `No run of ${name} waits ${LOGGED[reason].what} any more`, { reason, functionId: name });
    }
    const more = ended.length - MOST_LINES;
    if (more > 0) this.#parts.log("info", `And those of ${more} more functions do not wait any more`);
  }

  #knownOf(group: Group): Known {
    const key = keyOf(group);
    const { functionId, reason } = group;
    const known = this.#known.get(key) ?? { functionId, reason, isSaid: false, seen: 0, missed: 0 };
    this.#known.set(key, known);
    return known;
  }
}

const keyOf = ({ functionId, reason }: Pick<Group, "functionId" | "reason">): string => `${reason} ${functionId}`;

/** Where all that are named wait for the same, all do: a queue is long for one reason. */
function groupsOf(
  { functionId, count, runs }: OverdueWork,
  why: ReadonlyMap<string, RunWaiting | null>,
): readonly Group[] {
  const byReason = new Map<LoggedReason, { readonly first: Omit<Group, "count" | "isMore">; named: number }>();
  for (const { runId, dueMs } of runs) {
    const waiting = why.get(runId);
    if (!waiting || !isLogged(waiting.reason)) continue;
    const { reason, message } = waiting;
    const group = byReason.get(reason);
    if (group) group.named += 1;
    else byReason.set(reason, { first: { functionId, reason, message, runId, dueMs }, named: 1 });
  }
  const isAllNamed = count === runs.length;
  const isOne = byReason.size === 1;
  return [...byReason.values()].map(({ first, named }) => ({
    ...first,
    count: isOne && !isAllNamed ? count : named,
    isMore: isOne ? count >= MAX_AHEAD : !isAllNamed,
  }));
}
