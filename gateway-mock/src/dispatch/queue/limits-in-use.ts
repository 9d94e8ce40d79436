/** What is in use of concurrency limits and throttles: who has the places of each key, who waits for one. For people. */
import { type EventReader, seenText } from "@holdfast/engine";
import type { LimitedJob, LimitUse, Store } from "@holdfast/store";
import type { Starter } from "../events/starter.ts";
import type { Functions, KnownFunction } from "../registry/functions.ts";

export interface LimitedRun {
  readonly runId: string;
  readonly functionId: string;
  readonly sinceMs: number;
}

/** One key of a limit; of a limit without a key the only one. */
export interface KeyInUse {
  /** The key's value; null: it has none, or the event that says it is gone. */
  readonly key: string | null;
  readonly taken: number;
  readonly holders: readonly LimitedRun[];
  readonly waiting: number;
  readonly waiters: readonly LimitedRun[];
  /** Of a throttle: when the next run may start; null: at once. */
  readonly nextStartMs: number | null;
}

export type LimitInUse = {
  readonly functionId: string;
  /** Its expression. */
  readonly key: string | null;
  /** Those in use, the fullest first. */
  readonly uses: readonly KeyInUse[];
  /** More are in use than are listed, or more jobs wait than were looked at. */
  readonly isCut: boolean;
} & (
  | { readonly kind: "concurrency"; readonly limit: number; readonly scope: "fn" | "env" | "account" }
  | { readonly kind: "throttle"; readonly limit: number; readonly burst: number; readonly periodMs: number }
);

/** Keys of one limit, and runs of one key, that are listed. */
export const SHOWN_KEYS = 50;
const SHOWN_RUNS = 10;

interface Parts {
  readonly functions: Functions;
  readonly starter: Pick<Starter, "reader">;
}

/** What a limit counts by: a digest of its key's value. */
interface Found {
  readonly id: string;
  readonly holders: readonly LimitedJob[];
  readonly waiters: readonly LimitedJob[];
  readonly taken: number;
  readonly nextStartMs: number | null;
}

export class LimitsInUse {
  readonly #store: Store;
  readonly #parts: Parts;

  constructor(store: Store, parts: Parts) {
    this.#store = store;
    this.#parts = parts;
  }

  /** Of all functions of the environment that have limits, by their names. */
  async of(environment: string): Promise<LimitInUse[]> {
    const limited = [...this.#parts.functions.all()]
      .filter((fn) => fn.environment === environment && fn.limits !== null)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    if (limited.length === 0) return [];
    const use = await this.#store.limitUse(limited.map(({ id }) => id));
    const slots = [...new Set([...use.held, ...use.waiting].flatMap((job) => job.slots))];
    const places = await this.#store.placesTaken({ slots, throttles: [], ahead: [], functionIds: [] });
    const taken = new Map(slots.map((slot, index) => [slot, places.slots[index]?.taken ?? 0]));
    const readers = await this.#readersOf(use);
    return limited.flatMap((fn) => this.#limitsOf(fn, use, taken, readers));
  }

  #limitsOf(
    fn: KnownFunction,
    use: LimitUse,
    taken: ReadonlyMap<string, number>,
    readers: ReadonlyMap<string, EventReader>,
  ): LimitInUse[] {
    const { concurrency, throttle } = fn.settings;
    const ofSlots = concurrency.map(({ limit, scope, key }, index): LimitInUse => {
      const own = use.waiting.filter(({ functionId }) => functionId === fn.id);
      const names = [...own, ...use.held.filter(({ functionId }) => functionId === fn.id)].map(
        (job) => job.slots[index],
      );
      const found = [...new Set(names)].flatMap((id): Found[] => {
        if (id === undefined) return [];
        const has = (job: LimitedJob): boolean => job.slots.includes(id);
        const holders = use.held.filter(has);
        return [{ id, holders, waiters: use.waiting.filter(has), taken: taken.get(id) ?? 0, nextStartMs: null }];
      });
      return { functionId: fn.id, kind: "concurrency", limit, scope, key, ...shown(found, key, fn, readers) };
    });
    if (!throttle || !fn.limits?.throttle) return ofSlots;
    const { limit, burst, periodMs, key } = throttle;
    const { everyMs, burst: atOnce } = fn.limits.throttle;
    const waiting = use.waiting.filter((job) => job.functionId === fn.id && job.throttle !== null);
    const paced = new Map(use.paced.flatMap((one) => (one.functionId === fn.id ? [[one.key, one.atMs]] : [])));
    const found = [...new Set([...paced.keys(), ...waiting.map((job) => job.throttle ?? "")])].map((id): Found => {
      const atMs = paced.get(id) ?? use.nowMs;
      const nextMs = atMs - (atOnce - 1) * everyMs;
      return {
        id,
        holders: [],
        waiters: waiting.filter((job) => job.throttle === id),
        // Starts that are not made good for yet.
        taken: Math.min(atOnce, Math.ceil(Math.max(0, atMs - use.nowMs) / everyMs - 1e-6)),
        nextStartMs: nextMs > use.nowMs ? nextMs : null,
      };
    });
    const uses = shown(found, key, fn, readers);
    return [...ofSlots, { functionId: fn.id, kind: "throttle", limit, burst, periodMs, key, ...uses }];
  }

  /** The events of some of the runs, which say what the value of a key is: one for each of so many keys. */
  async #readersOf(use: LimitUse): Promise<ReadonlyMap<string, EventReader>> {
    const first = new Map<string, LimitedJob>();
    for (const job of [...use.held, ...use.waiting]) {
      for (const id of [...job.slots, ...(job.throttle === null ? [] : [job.throttle])]) {
        const key = `${job.functionId}\n${id}`;
        if (!first.has(key)) first.set(key, job);
      }
    }
    const runIds = [...new Set([...first.values()].map(({ runId }) => runId))].slice(0, 4 * SHOWN_KEYS);
    const runs = await this.#store.openRuns(runIds);
    const texts = await this.#store.loadEvents(runs.map(({ head }) => head.eventId));
    // One that is gone leaves no place behind.
    if (texts.length < runs.length) return new Map();
    const readers = new Map(
      runs.map(({ head }, index) => [head.id, this.#parts.starter.reader(() => seenText(texts[index] ?? "{}"))]),
    );
    return new Map(
      [...first].flatMap(([key, { runId }]) => {
        const reader = readers.get(runId);
        return reader ? [[key, reader] as const] : [];
      }),
    );
  }
}

function shown(
  found: readonly Found[],
  key: string | null,
  { id: functionId }: KnownFunction,
  readers: ReadonlyMap<string, EventReader>,
): Pick<LimitInUse, "uses" | "isCut"> {
  const inOrder = [...found].sort(
    (a, b) => b.waiters.length - a.waiters.length || b.taken - a.taken || (a.id < b.id ? -1 : 1),
  );
  const uses = inOrder.slice(0, SHOWN_KEYS).map(({ id, holders, waiters, taken, nextStartMs }): KeyInUse => {
    const reader = key === null ? undefined : readers.get(`${functionId}\n${id}`);
    return {
      key: key === null || !reader ? null : reader.text(key),
      taken,
      holders: holders.slice(0, SHOWN_RUNS).map(runOf),
      waiting: waiters.length,
      waiters: waiters.slice(0, SHOWN_RUNS).map(runOf),
      nextStartMs,
    };
  });
  return { uses, isCut: found.length > SHOWN_KEYS };
}

const runOf = ({ runId, functionId, sinceMs }: LimitedJob): LimitedRun => ({ runId, functionId, sinceMs });
