/**
 * The faults that were asked for, what each decides about what comes by, and what has happened. Time and seeds come from
 * outside: the same rules, the same seeds and the same order of what comes by give the same faults.
 */
import { type Random, seededRandom } from "@holdfast/core";
import { sha1Hex } from "@holdfast/engine";
import { ACK_KINDS, type FaultEdge, type StoreOperation, type WireKind } from "./fault-kinds.ts";
import { type Direction, type FaultRule, isAt, type RuleAt } from "./fault-rule.ts";
import { invalid } from "./read-rule.ts";

const MAX_RULES = 200;
/** What has happened is remembered so far back. */
export const MAX_HISTORY = 1_000;

interface FramePoint extends AboutRequest {
  readonly kind: WireKind | "UNKNOWN";
  readonly direction: Direction;
}

interface Points {
  readonly frame: FramePoint;
  readonly start: object;
  readonly flush: AboutRequest;
  readonly store: { readonly operation: StoreOperation };
  readonly now: AboutRequest;
}

/** Something that comes by one of the gateway's edges. What costs something to find out is asked for. */
export type FaultPoint<E extends FaultEdge> = { readonly edge: E } & Points[E];

export interface AboutRequest {
  readonly connection: { readonly connectionId: string; readonly instanceId: string } | null;
  functionId(): string | null;
  runId(): string | null;
  steps(): readonly StepName[];
  /** Whether it reports what is to be committed, or (to a worker) says that this was. */
  commits?(): boolean;
}

/** A step that a frame is about: its hash, and the id that its author wrote where that is there. */
export interface StepName {
  readonly hash: string;
  readonly name: string | null;
}

export interface FaultDecision<E extends FaultEdge = FaultEdge> {
  readonly id: string;
  readonly rule: RuleAt<E>;
  /** In [0, 1): for what the rule leaves to chance. */
  readonly chance: number;
}

export interface HistoryEntry {
  readonly sequence: number;
  readonly atMs: number;
  readonly faultId: string;
  readonly what: FaultRule["what"];
  /** In words. */
  readonly text: string;
  readonly connectionId: string | null;
  readonly functionId: string | null;
  readonly runId: string | null;
}

export interface ListedFault {
  readonly id: string;
  readonly rule: FaultRule;
  readonly addedMs: number;
  /** How many came by that it fits. */
  readonly fits: number;
  readonly happened: number;
  /** It does nothing any more: its count or its time is used up. */
  readonly isOver: boolean;
}

interface Entry<E extends FaultEdge = FaultEdge> {
  readonly id: string;
  readonly rule: RuleAt<E>;
  readonly addedMs: number;
  readonly addedMonotonicMs: number;
  readonly random: Random;
  readonly stepHash: string | null;
  fits: number;
  happened: number;
  isOver: boolean;
}

export interface BookClock {
  nowMs(): number;
  monotonicMs(): number;
}

export class FaultBook {
  readonly #clock: BookClock;
  readonly #entries = new Map<string, Entry>();
  /** Those that may still happen, by edge. */
  #live: { readonly [E in FaultEdge]: readonly Entry<E>[] } = NONE;
  #history: HistoryEntry[] = [];
  #nextId = 1;
  #sequence = 0;

  constructor(clock: BookClock) {
    this.#clock = clock;
  }

  /** @throws HoldfastError `FAULT_INVALID` when there are too many */
  add(rule: FaultRule): ListedFault {
    if (this.#entries.size >= MAX_RULES) this.#forgetOver();
    if (this.#entries.size >= MAX_RULES) {
      throw invalid(`There are ${MAX_RULES} faults already, as many as there may be: remove some, or clear all.`);
    }
    const id = `fault-${this.#nextId++}`;
    const { step } = rule.where;
    const entry: Entry = {
      id,
      rule,
      addedMs: this.#clock.nowMs(),
      addedMonotonicMs: this.#clock.monotonicMs(),
      random: seededRandom(rule.seed),
      stepHash: step === undefined ? null : sha1Hex(step),
      fits: 0,
      happened: 0,
      isOver: false,
    };
    this.#entries.set(id, entry);
    this.#sort();
    return listed(entry);
  }

  /** False: there is none with this id. */
  remove(id: string): boolean {
    const isGone = this.#entries.delete(id);
    if (isGone) this.#sort();
    return isGone;
  }

  /** How many there were. */
  clear(): number {
    const count = this.#entries.size;
    this.#entries.clear();
    this.#sort();
    return count;
  }

  list(): readonly ListedFault[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#entries.values()].map((entry) =>
      listed({ ...entry, isOver: entry.isOver || isLate(entry, nowMs) }),
    );
  }

  get(id: string): ListedFault | undefined {
    const entry = this.#entries.get(id);
    return entry && listed(entry);
  }

  /** Whether anything may happen there. */
  has(edge: FaultEdge): boolean {
    return this.#live[edge].length > 0;
  }

  /** The first fault, in the order in which they were added, that happens to it. */
  decide<E extends FaultEdge>(point: FaultPoint<E>, only?: string): FaultDecision<E> | null {
    const nowMs = this.#clock.monotonicMs();
    for (const entry of this.#live[point.edge]) {
      if (only !== undefined && entry.id !== only) continue;
      if (isLate(entry, nowMs)) {
        this.#end(entry);
        continue;
      }
      if (nowMs < entry.addedMonotonicMs + entry.rule.fromMs || !FITS[point.edge](entry, point)) continue;
      entry.fits += 1;
      // Drawn for each that fits, so that the decisions do not depend on those before.
      const [happens, chance] = [entry.random() < entry.rule.probability, entry.random()];
      if (!happens || entry.fits <= entry.rule.after) continue;
      entry.happened += 1;
      if (entry.rule.count !== null && entry.happened >= entry.rule.count) this.#end(entry);
      return { id: entry.id, rule: entry.rule, chance };
    }
    return null;
  }

  record(faultId: string, what: FaultRule["what"], text: string, about: Partial<AboutRequest> = {}): void {
    this.#sequence += 1;
    this.#history.push({
      sequence: this.#sequence,
      atMs: this.#clock.nowMs(),
      faultId,
      what,
      text,
      connectionId: about.connection?.connectionId ?? null,
      functionId: about.functionId?.() ?? null,
      runId: about.runId?.() ?? null,
    });
    if (this.#history.length > 2 * MAX_HISTORY) this.#history = this.#history.slice(-MAX_HISTORY);
  }

  /** The newest first. */
  history(limit: number): readonly HistoryEntry[] {
    return this.#history.slice(-Math.min(limit, MAX_HISTORY)).reverse();
  }

  #end(entry: Entry): void {
    entry.isOver = true;
    this.#sort();
  }

  #forgetOver(): void {
    for (const [id, { isOver }] of this.#entries) if (isOver) this.#entries.delete(id);
  }

  #sort(): void {
    const live = [...this.#entries.values()].filter(({ isOver }) => !isOver);
    const at = <E extends FaultEdge>(edge: E): Entry<E>[] =>
      live.filter((entry): entry is Entry<E> => isAt(edge, entry.rule));
    this.#live = { frame: at("frame"), start: at("start"), flush: at("flush"), store: at("store"), now: at("now") };
  }
}

const NONE = { frame: [], start: [], flush: [], store: [], now: [] } as const;

const isLate = ({ rule, addedMonotonicMs }: Entry, nowMs: number): boolean =>
  rule.forMs !== null && nowMs >= addedMonotonicMs + rule.fromMs + rule.forMs;

const FITS: { readonly [E in FaultEdge]: (entry: Entry<E>, point: Points[E]) => boolean } = {
  start: () => true,
  store: ({ rule }, { operation }) => rule.where.operation?.includes(operation) ?? defaultOperations(rule, operation),
  frame: (entry, point) => fitsFrame(entry.rule, point) && fitsRequest(entry, point),
  flush: (entry, point) => fitsRequest(entry, point),
  now: (entry, point) => fitsRequest(entry, point),
};

/** A lost answer matters where something was changed. */
const defaultOperations = ({ what }: RuleAt<"store">, operation: StoreOperation): boolean =>
  what !== "lose-answer" || operation === "commit" || operation === "intake";

function fitsFrame(rule: RuleAt<"frame">, { kind, direction, commits }: FramePoint): boolean {
  const { where } = rule;
  if (rule.what === "withhold-acks") return direction === "to-worker" && ACK_KINDS.some((one) => one === kind);
  if (rule.what === "kill") {
    const isReport = kind === "WORKER_CHECKPOINT" || (kind === "WORKER_REPLY" && rule.moment === "before-commit");
    return isReport && commits?.() === true;
  }
  if (where.direction !== undefined && where.direction !== direction) return false;
  return where.kind === undefined || where.kind.some((one) => one === kind);
}

function fitsRequest({ rule: { where }, stepHash }: Entry, about: AboutRequest): boolean {
  const { connection } = where;
  if (connection !== undefined) {
    if (about.connection?.connectionId !== connection && about.connection?.instanceId !== connection) return false;
  }
  if (where.function !== undefined && about.functionId() !== where.function) return false;
  if (where.run !== undefined && about.runId() !== where.run) return false;
  if (where.step === undefined) return true;
  return about.steps().some(({ hash, name }) => hash === stepHash || hash === where.step || name === where.step);
}

function listed({ id, rule, addedMs, fits: fitted, happened, isOver }: Entry): ListedFault {
  return { id, rule, addedMs, fits: fitted, happened, isOver };
}
